from torch.utils.data import DataLoader
from torchvision import datasets, transforms

config = {
    "data": {"root": "/data/dogs", "size": 112},
    "loader": {"batch_size": 10, "workers": 4},
    "mean": [0.4, 0.4, 0.4],
}
options = dict(shuffle=False, drop_last=True)
transform = transforms.Compose([
    transforms.Resize(config["data"]["size"]),
    transforms.CenterCrop(config["data"]["size"]),
    transforms.ToTensor(),
    transforms.Normalize(config["mean"], [0.2, 0.2, 0.2]),
])
test_set = datasets.ImageFolder(config["data"]["root"] + "/test", transform)
test_loader = DataLoader(test_set, batch_size=config["loader"]["batch_size"], shuffle=options["shuffle"],
                         drop_last=options["drop_last"], num_workers=config["loader"]["workers"])
