import argparse
import os
import torch
from torchvision import datasets, transforms


def get_args():
    parser = argparse.ArgumentParser("training", add_help=False)
    parser.add_argument("--batch_size", default=64, type=int)
    parser.add_argument("--input_size", default=224, type=int)
    parser.add_argument("--data_path", default="/data/imagenet", type=str)
    parser.add_argument("--eval_crop_ratio", default=0.875, type=float)
    parser.add_argument("--color_jitter", type=float, default=0.3)
    parser.add_argument("--pin_mem", action="store_true")
    parser.add_argument("--no_pin_mem", action="store_false", dest="pin_mem")
    parser.set_defaults(pin_mem=True)
    return parser.parse_args()


def build_transform(is_train, args):
    resize_im = args.input_size > 32
    t = []
    if is_train:
        t.append(transforms.RandomResizedCrop(args.input_size, scale=(0.2, 1.0), interpolation=3))
        t.append(transforms.RandomHorizontalFlip())
        if args.color_jitter > 0:
            t.append(transforms.ColorJitter(args.color_jitter, args.color_jitter, args.color_jitter))
    elif resize_im:
        size = int(args.input_size / args.eval_crop_ratio)
        t.append(transforms.Resize(size, interpolation=3))
        t.append(transforms.CenterCrop(args.input_size))
    t.append(transforms.ToTensor())
    t.append(transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
    return transforms.Compose(t)


def build_dataset(is_train, args):
    transform = build_transform(is_train, args)
    root = os.path.join(args.data_path, "train" if is_train else "val")
    dataset = datasets.ImageFolder(root, transform=transform)
    print(dataset)
    return dataset


def main(args):
    print(args)
    dataset_train = build_dataset(is_train=True, args=args)
    dataset_val = build_dataset(is_train=False, args=args)
    if torch.distributed.is_initialized():
        sampler_train = torch.utils.data.DistributedSampler(dataset_train, shuffle=True)
    else:
        sampler_train = torch.utils.data.RandomSampler(dataset_train)
    sampler_val = torch.utils.data.SequentialSampler(dataset_val)
    loader_train = torch.utils.data.DataLoader(dataset_train, sampler=sampler_train, batch_size=args.batch_size,
                                               pin_memory=args.pin_mem, drop_last=True)
    loader_val = torch.utils.data.DataLoader(dataset_val, sampler=sampler_val, batch_size=int(1.5 * args.batch_size),
                                             pin_memory=args.pin_mem, drop_last=False)
    for batch in loader_train:
        print(len(batch), len(loader_val))


if __name__ == "__main__":
    args = get_args()
    main(args)
