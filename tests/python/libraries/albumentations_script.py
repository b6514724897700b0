"""Does transforms of albumentations to pictures, in a process of its own, because it brings another typing_extensions.

    albumentations_script.py RESULT.npz < cases.json

cases.json: a list of [picture's file, expressions of transforms, one after the other, or a program that makes `chain`].
RESULT: an array for each case, in order.
"""
import json
import os
import sys
import types
from pathlib import Path

import numpy as np
from PIL import Image

os.environ["NO_ALBUMENTATIONS_UPDATE"] = "1"  # it would ask the network for a newer version
# Of SciPy, which the tests do not have, albumentations names a module that its noise alone needs.
scipy = types.ModuleType("scipy")
scipy.special = types.ModuleType("scipy.special")
sys.modules.update({"scipy": scipy, "scipy.special": scipy.special})
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "build" / "albumentations"))
import albumentations
import cv2
from albumentations.pytorch import ToTensorV2

names = {"A": albumentations, "ToTensorV2": ToTensorV2, "cv2": cv2}
made = []
for file, expressions in json.load(sys.stdin):
    with Image.open(file) as picture:
        values = np.asarray(picture.convert("RGB"))
    if isinstance(expressions, str):
        exec(expressions, program := {})
        chain = program["chain"]
    else:
        chain = albumentations.Compose([eval(one, names) for one in expressions])
    made.append(np.asarray(chain(image=values)["image"]))
np.savez(sys.argv[1], *made)
