#!/usr/bin/env python3
"""A trainer small enough to read: a linear classifier over batches that spdld decoded.

    quickstart_trainer.py PIPELINE.toml SHEET.png [--classes FOLDER]

For each epoch it prints the rate, the time that it waited for batches, and the loss. It writes the first batch as a picture
sheet.
"""
import argparse
import time
from pathlib import Path

import numpy as np
import spdld
from PIL import Image, ImageDraw

MEAN = np.array([0.485, 0.456, 0.406], np.float32).reshape(3, 1, 1)
STD = np.array([0.229, 0.224, 0.225], np.float32).reshape(3, 1, 1)
PICTURE, CAPTION, COLUMNS, PICTURES_MAX = 160, 14, 8, 32  # of the sheet; pixels, pixels, and counts
EVERY = 16  # the classifier sees every sixteenth pixel of a row and a column
RATE = 2e-3
CLASSES_UNNAMED = 1000  # shards do not tell how many classes there are


class LinearClassifier:
    """Softmax regression on every sixteenth pixel of a row and a column, trained by stochastic gradient descent."""

    def __init__(self, classes):
        self.classes, self.weights = classes, None

    def step(self, images, labels):
        """Takes one training step, and returns the mean loss before the step.

        images: float32 [B, 3, H, W].
        labels: int64 [B].
        """
        x = images[:, :, ::EVERY, ::EVERY].reshape(len(images), -1)
        if self.weights is None:
            self.weights = np.zeros((x.shape[1], self.classes), np.float32)
        logits = x @ self.weights
        logits -= logits.max(axis=1, keepdims=True)
        likelihood = np.exp(logits)
        likelihood /= likelihood.sum(axis=1, keepdims=True)
        rows = np.arange(len(labels))
        loss = -np.log(likelihood[rows, labels] + 1e-9).mean()
        likelihood[rows, labels] -= 1
        self.weights -= RATE / len(labels) * (x.T @ likelihood)
        return float(loss)


def write_sheet(images, captions, file):
    """Writes the images with their captions into a picture file.

    images: float32 [B, 3, H, W], as normalised by the pipeline.
    """
    count = min(len(images), PICTURES_MAX)
    rows = -(-count // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * PICTURE, rows * (PICTURE + CAPTION)), "white")
    draw = ImageDraw.Draw(sheet)
    for index in range(count):
        left, top = index % COLUMNS * PICTURE, index // COLUMNS * (PICTURE + CAPTION)
        pixels = ((images[index] * STD + MEAN) * 255).round().clip(0, 255).astype(np.uint8).transpose(1, 2, 0)
        sheet.paste(Image.fromarray(pixels).resize((PICTURE, PICTURE), Image.BILINEAR), (left, top + CAPTION))
        draw.text((left + 2, top + 1), captions[index], fill="black")
    sheet.save(file)


def class_names(folder):
    """Returns the names of the classes in order. The number of a class is the place of its name, as in torchvision."""
    return sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder else []


def captions_of(labels, names):
    return [f"{label} {names[label]}"[:25] if label < len(names) else str(label) for label in labels]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pipeline")
    parser.add_argument("sheet")
    parser.add_argument("--classes", type=Path, help="folder whose folders name the classes")
    options = parser.parse_args()

    began = time.perf_counter()
    loader = spdld.attach(options.pipeline, framework="numpy")
    names = class_names(options.classes)
    classes = len(names) or CLASSES_UNNAMED
    model, epochs, sheet_written = LinearClassifier(classes), loader.epochs, False
    for epoch in range(epochs):
        images_seen, waited_s, losses = 0, 0.0, []
        epoch_began = before = time.perf_counter()
        for batch in loader:
            waited_s += time.perf_counter() - before
            images = batch["image"]
            labels = batch["label"] if "label" in batch else np.zeros(len(images), np.int64)
            if not sheet_written:
                print(f"first batch after {time.perf_counter() - began:.2f} s: "
                      f"image {images.dtype} {list(images.shape)}, label {labels.dtype} {list(labels.shape)}")
                write_sheet(images, captions_of(labels, names), options.sheet)
                sheet_written = True
                waited_s, before = 0.0, time.perf_counter()
            losses.append(model.step(images, labels % classes))
            images_seen += len(images)
            before = time.perf_counter()
        taken_s = time.perf_counter() - epoch_began
        print(f"epoch {epoch + 1} of {epochs}: {images_seen} images, {images_seen / taken_s:.0f} images/s, "
              f"waited {waited_s:.2f} of {taken_s:.2f} s, loss {np.mean(losses):.3f}")


if __name__ == "__main__":
    main()
