#!/usr/bin/env python3
"""A trainer small enough to read: a linear classifier over batches of pictures, clips or sounds that spdld decoded.

    quickstart_trainer.py PIPELINE.toml SHEET.png [--classes FOLDER]

For each epoch it prints the rate, the time that it waited for batches, and the loss. It writes the first batch as a picture
sheet.
"""
import argparse
import time
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

import spdld

MEAN = np.array([0.485, 0.456, 0.406], np.float32).reshape(3, 1, 1)
STD = np.array([0.229, 0.224, 0.225], np.float32).reshape(3, 1, 1)
PICTURE, CAPTION, COLUMNS, PICTURES_MAX = 160, 14, 8, 64  # of the sheet; pixels, pixels, and counts
SOUND_PARTS = 4  # pictures beside each other that show a spectrogram
SHADES = np.array([(0, 0, 16), (80, 18, 120), (200, 60, 80), (252, 160, 50), (252, 252, 190)])  # from silence to loud
EVERY = 16  # the classifier sees every sixteenth pixel of a row and a column, and every sixteenth frame of a spectrogram
RATE = 2e-3
CLASSES_UNNAMED = 1000  # shards do not tell how many classes there are


class LinearClassifier:
    """Softmax regression, trained by stochastic gradient descent."""

    def __init__(self, classes):
        self.classes, self.weights = classes, None

    def step(self, x, labels):
        """Takes one training step, and returns the mean loss before the step.

        x: float32 [B, features].
        labels: int64 [B].
        """
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


def pixels_of(image):
    """Returns a picture, uint8 [H, W, 3], of an image, float32 [3, H, W], as normalised by the pipeline."""
    return ((image * STD + MEAN) * 255).round().clip(0, 255).astype(np.uint8).transpose(1, 2, 0)


def coloured(mel):
    """Returns a picture, uint8 [bands, frames, 3], of a spectrogram, float32 [bands, frames]: its lowest band is below."""
    shade = (mel[::-1] - mel.min()) / max(float(mel.max() - mel.min()), 1e-6) * (len(SHADES) - 1)
    return np.stack([np.interp(shade, range(len(SHADES)), SHADES[:, c]) for c in range(3)], axis=-1).astype(np.uint8)


class Images:
    """image: float32 [B, 3, H, W]."""

    output, word = "image", "images"

    def features(self, images):
        """Returns every sixteenth pixel of a row and a column, float32 [B, features]."""
        return images[:, :, ::EVERY, ::EVERY].reshape(len(images), -1)

    def pictures(self, image):
        """Returns the pictures that show a sample, side by side in the sheet."""
        return [pixels_of(image)]


class Clips:
    """clip: float32 [B, frames, 3, H, W]."""

    output, word = "clip", "clips"

    def features(self, clips):
        """Returns every sixteenth pixel of the frames' mean."""
        return clips[..., ::EVERY, ::EVERY].mean(axis=1).reshape(len(clips), -1)

    def pictures(self, clip):
        return [pixels_of(clip[at]) for at in np.linspace(0, len(clip) - 1, COLUMNS).round().astype(int)]


class Sounds:
    """mel: float32 [B, bands, frames]."""

    output, word = "mel", "sounds"

    def features(self, mels):
        """Returns every sixteenth frame."""
        return mels[:, :, ::EVERY].reshape(len(mels), -1)

    def pictures(self, mel):
        return np.array_split(coloured(mel), SOUND_PARTS, axis=1)


def medium_of(batch):
    return next(medium for medium in (Images(), Clips(), Sounds()) if medium.output in batch)


def write_sheet(samples, captions, file):
    """Writes a batch with its captions into a picture file.

    samples: the pictures of each sample, uint8 [H, W, 3].
    """
    across = len(samples[0])
    samples = samples[:PICTURES_MAX // across]
    columns = COLUMNS // across
    rows = -(-len(samples) // columns)
    sheet = Image.new("RGB", (COLUMNS * PICTURE, rows * (PICTURE + CAPTION)), "white")
    draw = ImageDraw.Draw(sheet)
    for index, pictures in enumerate(samples):
        left, top = index % columns * across * PICTURE, index // columns * (PICTURE + CAPTION)
        for place, pixels in enumerate(pictures):
            picture = Image.fromarray(pixels).resize((PICTURE, PICTURE), Image.BILINEAR)
            sheet.paste(picture, (left + place * PICTURE, top + CAPTION))
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
    model, epochs, medium = LinearClassifier(classes), loader.epochs, None
    for epoch in range(epochs):
        seen, waited_s, losses = 0, 0.0, []
        epoch_began = before = time.perf_counter()
        for batch in loader:
            waited_s += time.perf_counter() - before
            is_first, medium = medium is None, medium or medium_of(batch)
            values = batch[medium.output]
            labels = batch["label"] if "label" in batch else np.zeros(len(values), np.int64)
            if is_first:
                print(f"first batch after {time.perf_counter() - began:.2f} s: "
                      f"{medium.output} {values.dtype} {list(values.shape)}, label {labels.dtype} {list(labels.shape)}")
                write_sheet([medium.pictures(value) for value in values], captions_of(labels, names), options.sheet)
                waited_s, before = 0.0, time.perf_counter()
            losses.append(model.step(medium.features(values), labels % classes))
            seen += len(values)
            before = time.perf_counter()
        taken_s = time.perf_counter() - epoch_began
        print(f"epoch {epoch + 1} of {epochs}: {seen} {medium.word}, {seen / taken_s:.0f} {medium.word}/s, "
              f"waited {waited_s:.2f} of {taken_s:.2f} s, loss {np.mean(losses):.3f}")


if __name__ == "__main__":
    main()
