from datasets import load_dataset
from torch.utils.data import DataLoader

dataset = load_dataset("food101", split="train").with_format("torch")
loader = DataLoader(dataset, batch_size=32)
