"""Random pipelines whose outputs have samples that differ in length."""
from data import RaggedArchives
from model import Model


_LIST_TYPES = ["int8", "int16", "int32", "int64", "float32", "float64"]


def _operation(random, source):
    if source == "lst":
        return {"op": "parse-list", "dtype": random.choice(_LIST_TYPES)}
    if source == "json:pairs":
        return {"op": "parse-list", "dtype": random.choice(_LIST_TYPES), "width": 2}
    return {"op": "parse-npy", "dtype": "float32", "shape": [3]} if source == "npy" else {"op": "bytes"}


def _varying(random, number, source, data):
    name = f"v{number}"
    lengths = [len(data.content(sample, source)) for sample in range(len(data))]
    near = random.choice([max(lengths), sorted(lengths)[len(lengths) * 3 // 4], max(lengths) + random.randint(0, 9)])
    output = {"name": name, "from": source, "ops": [_operation(random, source)],
              "length_max": max(1, near - random.randint(0, 1))}
    if random.random() < 0.8:
        output["too_long"] = random.choice(["bad", "cut", "cut", "leave-out"])
    if random.random() < 0.5:
        output["ragged"] = True
        return output
    output["pad"] = "longest"
    if random.random() < 0.5:
        output["pad_multiple"] = random.choice([1, 2, 7, 8, 64, 1000])
    if random.random() < 0.5:
        output["pad_value"] = random.randint(0, 127)
    if random.random() < 0.6:
        output["lengths"] = f"{name}.n"
    if random.random() < 0.6:
        output["pad_mask"] = f"{name}.m"
    return output


def _fixed(random, number, data):
    if random.random() < 0.4:
        return {"name": f"f{number}", "from": "num", "ops": [{"op": "parse-int"}]}
    longest = max(len(content) for content in data.bins)
    return {"name": f"f{number}", "from": "bin", "ops": [{"op": "pad-bytes", "length": longest + random.randint(1, 3)}]}


def random_case(random, number, folder):
    """A data set in `folder`, a pipeline over it and the model of both."""
    data = RaggedArchives(random, folder, random.randint(1, 60), damaged=random.random() < 0.5)
    sources = random.choices(["bin", "json:text", "lst", "json:pairs", "npy"], k=random.randint(1, 3))
    outputs = [_varying(random, i, source, data) for i, source in enumerate(sources)]
    outputs += [_fixed(random, i, data) for i in range(random.randint(0, 2))]
    random.shuffle(outputs)
    order = {"epochs": random.randint(1, 3), "shuffle": random.choice([True, False, "window"])}
    if order["shuffle"] == "window":
        order["window"] = random.randint(1, 40)
    spec = {"name": f"p{number}", "seed": random.randint(0, 1 << 40), "output": outputs, "order": order,
            "source": {"type": "webdataset", "uri": data.paths if len(data.paths) > 1 else data.paths[0]},
            "cache": random.choice(["auto", "off", "encoded"]),
            "batch": {"size": random.randint(1, 12), "last": random.choice(["short", "drop", "pad"])}}
    if len(data) < 36:  # "drop" wants a whole batch of all ranks
        spec["batch"]["last"] = random.choice(["short", "pad"])
    spec["on_bad"] = _on_bad(random, Model(spec, data))
    if spec["on_bad"] != "fail":
        spec["bad_max"] = 1000000
    return spec, data, Model(spec, data)


def _on_bad(random, model):
    """Substitutes are tried only so often: most of the samples must be good for that."""
    good, bad = model.verdicts.count("good"), model.verdicts.count("bad")
    if good < len(model.verdicts) * 0.7:
        return "mask"
    return random.choice(["mask", "substitute", "fail" if bad == 0 else "substitute"])
