# The names that docs/trainers.md takes for granted.
checkpoint = {}


def train_step(images, labels):
    assert images.shape[1:] == (3, 224, 224) and len(labels) == len(images)


def write_validation_pipeline():
    text = open("train.toml").read()
    with open("val.toml", "w") as file:
        file.write(text.replace('name = "train"', 'name = "val"').replace("epochs = 2", "epochs = 1"))


write_validation_pipeline()
