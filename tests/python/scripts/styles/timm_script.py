import argparse
import yaml
from timm.data import create_dataset, create_loader, resolve_data_config
from timm.models import create_model

config_parser = parser = argparse.ArgumentParser(description="config", add_help=False)
parser.add_argument("-c", "--config", default="", type=str)
parser = argparse.ArgumentParser(description="training")
group = parser.add_argument_group("dataset")
group.add_argument("--data-dir", metavar="DIR")
group.add_argument("-b", "--batch-size", type=int, default=128)
group.add_argument("--model", default="resnet50", type=str)


def _parse_args():
    args_config, remaining = config_parser.parse_known_args()
    if args_config.config:
        with open(args_config.config) as f:
            parser.set_defaults(**yaml.safe_load(f))
    return parser.parse_args(remaining)


def main():
    args = _parse_args()
    model = create_model(args.model)
    data_config = resolve_data_config(vars(args), model=model)
    dataset_train = create_dataset("", root=args.data_dir, split="train", is_training=True, batch_size=args.batch_size)
    loader_train = create_loader(dataset_train, input_size=data_config["input_size"], batch_size=args.batch_size, is_training=True,
                                 mean=data_config["mean"], std=data_config["std"])
    for batch in loader_train:
        print(batch)


if __name__ == "__main__":
    main()
