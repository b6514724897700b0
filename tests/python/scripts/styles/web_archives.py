import webdataset as wds
from torchvision import transforms

preprocess = transforms.Compose([transforms.Resize((40, 40)), transforms.ToTensor()])
dataset = wds.WebDataset("/data/shards-{000000..000009}.tar").shuffle(1000).decode("pil").to_tuple("jpg", "cls")
loader = wds.WebLoader(dataset.map_tuple(preprocess, lambda x: x).batched(16), batch_size=None)
