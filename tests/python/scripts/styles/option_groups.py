import argparse
import os.path as osp
from torch.utils.data import DataLoader
import torchvision.transforms as T
from torchvision.datasets import ImageFolder

parser = argparse.ArgumentParser()
group = parser.add_argument_group("data")
group.add_argument("root", type=str)
group.add_argument("--size", type=int, nargs=2, default=(90, 120))
group.add_argument("--bs", "--batch-size", type=int, default=12)
parser.add_argument("--shuffle", action=argparse.BooleanOptionalAction, default=True)
args, rest = parser.parse_known_args()

dataset = ImageFolder(osp.join(args.root, "train"), T.Compose([T.Resize(args.size), T.ToTensor()]))
loader = DataLoader(dataset, batch_size=args.bs, shuffle=args.shuffle)
