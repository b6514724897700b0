"""Trains, evaluates and predicts with Keras 3 on the batches of a daemon. $KERAS_BACKEND: torch or jax.

    keras_script.py PARTS      PARTS: JSON, {a part, which is a key of the last lines: the options of a Loader}

Prints JSON: {part: what it gives}.
"""
import json
import sys
import warnings

import numpy as np

import keras_apart

keras = keras_apart.load_keras()
import spdld.keras

STEPS = 6


class Watched(spdld.keras.Loader):
    """Notes the labels and the numbers of the batches that Keras asks for."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.labels, self.asked = [], []

    def __getitem__(self, index):
        batch = super().__getitem__(index)
        self.labels.append(numpy_of(batch[1]).tolist())
        self.asked.append(index)
        return batch


class Stopping(keras.callbacks.Callback):
    def __init__(self, after):
        super().__init__()
        self.after = after

    def on_train_batch_end(self, batch, logs=None):
        self.model.stop_training = batch + 1 == self.after


class Saving(keras.callbacks.Callback):
    """Keeps the loader's state in the middle and at the end of each epoch."""

    def __init__(self, loader):
        super().__init__()
        self.loader, self.states = loader, []

    def on_train_batch_end(self, batch, logs=None):
        if batch == 2:
            self.states.append(self.loader.state_dict())

    def on_epoch_end(self, epoch, logs=None):
        self.states.append(self.loader.state_dict())


def numpy_of(array):
    return np.array(array)


def model_of(classes=3):
    model = keras.Sequential([keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(classes)])
    model.compile(optimizer=keras.optimizers.SGD(0.0), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


def loader(kind=Watched, group="keras", **changes):
    return kind(**{**OPTIONS, "group": f"{PART} {group}", "timeout": 20, **changes})


def train():
    """Three epochs in the order that Keras asks for, with validation, then three short epochs, and one of another fit."""
    data, validation = loader(), loader(group="validation")
    model = model_of()
    history = model.fit(data, epochs=3, validation_data=validation, verbose=0).history
    whole, asked = data.labels, list(data.asked)
    data.labels = []
    model.fit(data, epochs=3, steps_per_epoch=STEPS // 3, verbose=0)
    short, data.labels = data.labels, []
    model.fit(data, epochs=1, verbose=0, shuffle=False)
    return {"whole": whole, "asked": asked, "short": short, "last": data.labels, "epochs": len(history["loss"]),
            "validation": len(validation.labels)}


def judge():
    """What evaluate and predict give, and the same computed by numpy from the batches themselves."""
    model = model_of()
    weighed = OPTIONS.get("sample_weight") is not None
    plain = loader(spdld.keras.Loader, "plain")
    batches = [[numpy_of(part) for part in batch] for batch in plain]
    model.fit(loader(), epochs=1, verbose=0)
    kernel, bias = (numpy_of(weight) for weight in model.get_weights())
    logits = np.concatenate([batch[0].astype(np.float32).mean((1, 2)) @ kernel + bias for batch in batches])
    labels = np.concatenate([batch[1] for batch in batches])
    weights = np.concatenate([batch[2] for batch in batches]) if weighed else np.ones(len(labels))
    losses = np.log(np.exp(logits - logits.max(1, keepdims=True)).sum(1)) + logits.max(1) - logits[np.arange(len(labels)), labels]
    predicted = model.predict(loader(spdld.keras.Loader, "unlabelled", y=None, sample_weight=None), verbose=0)
    loss = float(model.evaluate(loader(group="judged"), verbose=0))
    return {"loss": loss, "samples": len(labels), "weight": float(weights.sum()),
            "expected": float((losses * weights).sum() / len(losses)), "apart": float(np.abs(predicted - logits).max())}


def left():
    """A fit that stops after two of the steps, and another one."""
    data = loader()
    model = model_of()
    model.build((None, 32, 32, 3))
    model.fit(data, epochs=1, callbacks=[Stopping(2)], verbose=0)
    data.labels = []
    model.fit(data, epochs=2, verbose=0)
    return data.labels


def state():
    data = loader()
    saving = Saving(data)
    model_of().fit(data, epochs=2, callbacks=[saving], verbose=0)
    found = []
    for number, saved in enumerate(saving.states):
        with loader(group=f"again {number}") as again:
            again.load_state_dict(saved)
            found.append([again.epoch, [numpy_of(batch[1]).tolist() for batch in again]])
    with loader(group="by its number") as again:
        again.set_epoch(1)
        found.append([again.epoch, [numpy_of(batch[1]).tolist() for batch in again]])
    return found


def first():
    """The first batch, by the names that were asked for; or why there is none."""
    def shapes(part):
        if isinstance(part, dict):
            return {name: shapes(entry) for name, entry in part.items()}
        return [shapes(entry) for entry in part] if isinstance(part, (list, tuple)) else list(part.shape)
    return refused(lambda: loader(spdld.keras.Loader)[0], shapes)


def page():
    """The block of docs/trainers.md, with a model that has no shapes yet."""
    names = {"model": model_of()}
    exec(OPTIONS["block"], names)
    with names["train"] as data, names["validation"]:
        return data.epoch


def refused(make, given=lambda made: "taken"):
    try:
        return given(make())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def refusals():
    told = {
        "workers": refused(lambda: loader(workers=4)),
        "framework": refused(lambda: loader(framework="numpy")),
        "weight alone": refused(lambda: loader(y=None, sample_weight="label")),
        "names": refused(lambda: loader(x=3)),
        "no output": refused(lambda: loader(x="picture", kind=spdld.keras.Loader)[0]),
        "client": refused(lambda: loader(pipeline={**OPTIONS["pipeline"], "order": {"shuffle": "client"}})),
        "number": refused(lambda: loader()[STEPS]),
    }
    with loader() as data:
        told["set workers"] = refused(lambda: setattr(data, "workers", 2))
        told["set processes"] = refused(lambda: setattr(data, "use_multiprocessing", True))
        told["copied"] = refused(lambda: __import__("pickle").dumps(data))
        told["its workers"] = [data.workers, data.use_multiprocessing]
        told["too many"] = refused(lambda: [data[0] for _ in range(STEPS + 1)])
        told["closed"] = repr(data).split(" ")[0]
    told["one for both"] = refused(one_for_both)
    keras.backend.backend, plain = (lambda: "tensorflow"), keras.backend.backend
    told["backend"] = refused(loader)
    keras.backend.backend = plain
    return told


def one_for_both():
    with loader(group="one for both") as data:
        model_of().fit(data, epochs=2, steps_per_epoch=2, validation_data=data, verbose=0)


warnings.simplefilter("ignore", spdld.DataWarning)  # of the part whose pictures are damaged
made = {}
for PART, OPTIONS in json.loads(sys.argv[1]).items():
    made[PART] = {"train": train, "judge": judge, "left": left, "state": state, "refusals": refusals, "first": first,
                  "ragged": first, "page": page, "masked": judge}[PART]()
print(json.dumps(made))
