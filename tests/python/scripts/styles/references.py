import datetime
import os

import torch
import torch.utils.data
import torchvision
import utils
from torch import nn
from torch.utils.data.dataloader import default_collate
from torchvision.transforms.functional import InterpolationMode
import torchvision.transforms as T


def preset(crop_size, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225), interpolation=InterpolationMode.BILINEAR,
           hflip_prob=0.5, auto_augment_policy=None, random_erase_prob=0.0):
    trans = [T.RandomResizedCrop(crop_size, interpolation=interpolation)]
    if hflip_prob > 0:
        trans.append(T.RandomHorizontalFlip(hflip_prob))
    if auto_augment_policy is not None:
        if auto_augment_policy == "ra":
            trans.append(T.RandAugment(interpolation=interpolation, magnitude=9))
        else:
            trans.append(T.AutoAugment(interpolation=interpolation))
    trans.extend([T.PILToTensor(), T.ConvertImageDtype(torch.float), T.Normalize(mean=mean, std=std)])
    if random_erase_prob > 0:
        trans.append(T.RandomErasing(p=random_erase_prob))
    return T.Compose(trans)


def load_data(traindir, valdir, args):
    val_resize_size, val_crop_size, train_crop_size = (args.val_resize_size, args.val_crop_size, args.train_crop_size)
    interpolation = InterpolationMode(args.interpolation)
    print("Loading")
    auto_augment_policy = getattr(args, "auto_augment", None)
    random_erase_prob = getattr(args, "random_erase", 0.0)
    dataset = torchvision.datasets.ImageFolder(
        traindir, preset(crop_size=train_crop_size, interpolation=interpolation, auto_augment_policy=auto_augment_policy,
                         random_erase_prob=random_erase_prob))
    dataset_test = torchvision.datasets.ImageFolder(
        valdir, T.Compose([T.Resize(val_resize_size, interpolation=interpolation), T.CenterCrop(val_crop_size), T.ToTensor()]))
    if args.distributed:
        train_sampler = torch.utils.data.distributed.DistributedSampler(dataset)
        test_sampler = torch.utils.data.distributed.DistributedSampler(dataset_test, shuffle=False)
    else:
        train_sampler = torch.utils.data.RandomSampler(dataset)
        test_sampler = torch.utils.data.SequentialSampler(dataset_test)
    return dataset, dataset_test, train_sampler, test_sampler


def main(args):
    if args.output_dir:
        utils.mkdir(args.output_dir)
    utils.init_distributed_mode(args)
    print(args)
    train_dir = os.path.join(args.data_path, "train")
    val_dir = os.path.join(args.data_path, "val")
    dataset, dataset_test, train_sampler, test_sampler = load_data(train_dir, val_dir, args)
    num_classes = len(dataset.classes)
    collate_fn = default_collate
    data_loader = torch.utils.data.DataLoader(dataset, batch_size=args.batch_size, sampler=train_sampler, num_workers=args.workers,
                                              pin_memory=True, collate_fn=collate_fn)
    data_loader_test = torch.utils.data.DataLoader(dataset_test, batch_size=args.batch_size, sampler=test_sampler,
                                                   num_workers=args.workers, pin_memory=True)


def get_args_parser(add_help=True):
    import argparse
    parser = argparse.ArgumentParser(description="Classification", add_help=add_help)
    parser.add_argument("--data-path", default="/datasets01/imagenet", type=str)
    parser.add_argument("-b", "--batch-size", default=32, type=int)
    parser.add_argument("-j", "--workers", default=16, type=int)
    parser.add_argument("--output-dir", default=".", type=str)
    parser.add_argument("--auto-augment", default=None, type=str)
    parser.add_argument("--random-erase", default=0.0, type=float)
    parser.add_argument("--interpolation", default="bilinear", type=str)
    parser.add_argument("--val-resize-size", default=256, type=int)
    parser.add_argument("--val-crop-size", default=224, type=int)
    parser.add_argument("--train-crop-size", default=224, type=int)
    return parser


if __name__ == "__main__":
    args = get_args_parser().parse_args()
    main(args)
