"""The fixed set of pipelines that bench/same_bytes.py runs. Each covers something that decides which bytes come."""

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
DECODE = {"op": "decode-image"}
AS_PILLOW = {**DECODE, "resampling": "pillow"}
FLIP = {"op": "horizontal-flip"}
LABEL = {"name": "label", "from": "class"}
MANY_BAD = 100_000


def resize(size, **more):
    return {"op": "resize", "size": size, **more}


def crop(size=64, **more):
    return {"op": "random-resized-crop", "size": size, **more}


def centre(size):
    return {"op": "center-crop", "size": size}


def normalize(**more):
    return {"op": "normalize", "mean": MEAN, "std": STD, **more}


def convert(**more):
    return {"op": "convert", **more}


def image(*ops, name="image", decode=DECODE, field="image"):
    return {"name": name, "from": field, "ops": [decode, *ops]}


def bytes_of(name, field, *ops):
    return {"name": name, "from": field, "ops": list(ops)}


class Set:
    """Gathers pipelines. The attribute `all` is a list of dicts: name, spec, options (of attach), and where it is set,
    `pushed` (the steps that the trainer asks for), `others` (batch sizes of jobs that share the stream), or `is_kept`
    (True: the run must find samples in the cache)."""

    def __init__(self, folder, pictures):
        self.folder, self.all = folder, []
        self.sources = {"pictures": {"type": "image-folder", "uri": str(pictures)},
                        **{name: {"type": "image-folder", "uri": str(folder / name)} for name in ("odd", "bad")},
                        **{name: {"type": "webdataset", "uri": str(folder / name)} for name in ("archives", "shards")
                           if (folder / name).exists()}}

    def add(self, name, source, outputs, order=None, batch=None, options=None, told=None, **top):
        spec = {"name": f"same-{len(self.all)}", "seed": 29, "cache": "off", "order": {"epochs": 1, **(order or {})},
                "batch": {"size": 7, **(batch or {})}, "output": outputs, **top}
        if source:
            spec["source"] = self.sources[source]
        self.all.append({"name": name, "spec": spec, "options": options or {}, **(told or {})})

    def mix(self, name, weights, order, **more):
        parts = [{"name": part, **self.sources[part], **({"weight": weight} if weight else {})}
                 for part, weight in zip(("pictures", "odd"), weights)]
        self.add(name, None, [image(crop(), FLIP), LABEL], order=order, sources=parts, **more)


def add_pixels(pipelines):
    add = pipelines.add
    add("resize", "pictures", [image(resize([96, 128])), LABEL])
    add("resize, without antialias, NCHW", "pictures", [image(resize([96, 128], antialias=False), convert(layout="NCHW"))])
    add("shorter side, centre, normalize", "pictures", [image(resize(120), centre(100), normalize())])
    add("centre larger than the picture", "pictures", [image(centre([700, 900]))], batch={"size": 3})
    add("resize chain", "pictures", [image(resize(300), centre(256), resize([64, 80], antialias=False), resize([48, 48]))])
    add("crop chain", "pictures", [image(crop(160), FLIP, centre([120, 150]), resize([50, 40]), normalize())])
    add("crop without antialias", "pictures", [image(crop([60, 90], antialias=False, scale=[0.3, 0.9], ratio=[0.5, 2]))])
    for dtype in ("float32", "float16", "bfloat16"):
        for layout in ("NHWC", "NCHW"):
            add(f"normalize, {dtype} {layout}", "pictures", [image(crop(), FLIP, normalize(dtype=dtype, layout=layout))])
    for dtype, layout in (("float32", "NCHW"), ("float16", "NHWC"), ("bfloat16", "NHWC")):
        add(f"convert, {dtype} {layout}", "pictures",
            [image(resize([50, 70]), convert(dtype=dtype, layout=layout, scale=1 / 255))])
    add("normalize of 8-bit values", "pictures",
        [image(resize([40, 40]), {"op": "normalize", "mean": [120, 110, 100], "std": [60, 61, 62], "scale": 255})])
    for source in ("pictures", "odd"):
        add(f"not resized, {source}", source, [image(centre(64), FLIP)], order={"epochs": 2})
        add(f"colours before a resize, {source}", source, [image({"op": "invert", "p": 0.5}, crop(48))], order={"epochs": 2})
        add(f"resampling = pillow, {source}", source, [image(crop(48), FLIP, resize([30, 40]), decode=AS_PILLOW)],
            order={"epochs": 2})
        for cache in ("decoded", "packed", "indexed"):
            add(f"not resized, {source}, cache = {cache}", source, [image(centre(64), FLIP)], order={"epochs": 2}, cache=cache,
                told={"is_kept": True})
            add(f"resampling = pillow, {source}, cache = {cache}", source, [image(crop(48), FLIP, decode=AS_PILLOW)],
                order={"epochs": 2}, cache=cache, told={"is_kept": True})
    add("flip always", "pictures", [image(resize([40, 41]), {**FLIP, "p": 1})])
    add("two outputs that share draws", "pictures",
        [image(crop(80, draw="a", box="a_box"), {**FLIP, "draw": "f"}, name="large"),
         image(crop(24, draw="a", box="b_box"), {**FLIP, "draw": "f"}, normalize(), name="small")], order={"epochs": 2})
    add("two outputs with draws of their own", "pictures",
        [image(crop(32, draw="a"), name="one"), image(crop(32, draw="b"), FLIP, name="two")])
    for source, of in (("pictures", "the corpus"), ("odd", "odd pictures")):
        add(f"fast, {of}", source, [image(resize([30, 30]), decode={**DECODE, "fast": True})])
        add(f"fast crop, {of}", source, [image(crop(24), decode={**DECODE, "fast": True})], order={"epochs": 2})
        add(f"strict, {of}", source, [image(crop(), decode={**DECODE, "strict": True})])
    for turned in (True, False):
        add(f"exif = {turned}, in order", "odd", [image(resize([75, 120]), decode={**DECODE, "exif": turned}), LABEL],
            order={"shuffle": False})
        add(f"exif = {turned}, crop", "odd", [image(crop(48), decode={**DECODE, "exif": turned})])


def add_caches(pipelines):
    work = [image(crop(), FLIP, normalize()), LABEL]
    for cache in ("off", "encoded", "decoded"):
        kept = {"is_kept": cache != "off"}
        pipelines.add(f"cache = {cache}, second epoch", "pictures", work, order={"epochs": 2}, cache=cache, told=kept)
        pipelines.add(f"cache = {cache}, odd pictures", "odd", work, order={"epochs": 2}, cache=cache, told=kept)
        if "shards" in pipelines.sources:
            fields = [image(crop(), field="jpg"), bytes_of("label", "cls", {"op": "parse-int"})]
            pipelines.add(f"cache = {cache}, archives", "shards", fields, order={"epochs": 2}, cache=cache, told=kept)
    pipelines.add("cache = decoded, exif = False", "odd", [image(crop(), decode={**DECODE, "exif": False})], order={"epochs": 2},
                  cache="decoded", told={"is_kept": True})
    pipelines.add("cache = decoded, strict", "odd", [image(crop(), decode={**DECODE, "strict": True})], order={"epochs": 2},
                  cache="decoded", told={"is_kept": True})


def add_fields(pipelines):
    number, decimal, words = {"op": "parse-int"}, {"op": "parse-float"}, {"op": "pad-bytes", "length": 64}
    pipelines.add("fields of archives", "archives",
                  [image(crop(), field="jpg;jpeg"), bytes_of("label", "cls", number), bytes_of("value", "flt", decimal),
                   bytes_of("precise", "flt", {"op": "parse-float", "dtype": "float64"}), bytes_of("words", "txt", words),
                   bytes_of("key", "path", words)], order={"epochs": 2})
    pipelines.add("values of JSON", "archives",
                  [bytes_of("label", "json:meta.label", number), bytes_of("score", "json:meta.score", decimal),
                   bytes_of("words", "json:meta.words", words), bytes_of("whole", "json", {"op": "pad-bytes", "length": 300})])
    pipelines.add("fields kept in the cache", "archives", [bytes_of("words", "txt", words), bytes_of("label", "cls", number)],
                  order={"epochs": 2}, cache="encoded", told={"is_kept": True})
    pipelines.add("paths", "pictures", [bytes_of("path", "path", {"op": "pad-bytes", "length": 200}), LABEL])


def add_bad(pipelines):
    for on_bad in ("mask", "substitute"):
        bad, twice = {"on_bad": on_bad, "bad_max": MANY_BAD}, {"epochs": 2}
        pipelines.add(f"bad pictures, {on_bad}", "bad", [image(crop(), FLIP), LABEL], order=twice, **bad)
        pipelines.add(f"bad pictures, strict, {on_bad}", "bad", [image(resize([32, 32]), decode={**DECODE, "strict": True})],
                      cache="decoded", **bad)
        pipelines.add(f"bad numbers, {on_bad}", "archives", [bytes_of("number", "num", {"op": "parse-int"})], order=twice, **bad)


def add_orders(pipelines):
    folder, add = pipelines.folder, pipelines.add
    small = [image(crop(32), FLIP), LABEL]
    for last in ("short", "drop", "pad"):
        add(f"last = {last}", "odd", small, order={"epochs": 2}, batch={"size": 9, "last": last})
    add("shuffle = off", "odd", small, order={"shuffle": False})
    add("shuffle = window", "odd", small, order={"shuffle": "window", "window": 12, "epochs": 2})
    add("shuffle = window, archives", "archives", [bytes_of("label", "cls", {"op": "parse-int"})],
        order={"shuffle": "window", "window": 8, "epochs": 2})
    add("shuffle = client", "odd", small, order={"shuffle": "client", "epochs": 0},
        told={"pushed": [[3, 1, 4, 1, 5], [9, 2], [6, 5, 3, 5, 8, 9, 7]]})
    lists = {"include": str(folder / "include.txt"), "exclude": str(folder / "exclude.txt"), "first": 9}
    add("include, exclude, first", "odd", small, order={**lists, "epochs": 2})
    add("weights = class", "odd", small, order={"weights": "class", "epochs": 2})
    add("weights of a file", "odd", small, order={"weights": str(folder / "weights.csv"), "epoch_samples": 60})
    add("weights, without replacement", "odd", small,
        order={"weights": str(folder / "weights.csv"), "replacement": False, "epochs": 2})
    for rank in (0, 1):
        add(f"rank {rank} of 2", "odd", small, order={"epochs": 2}, batch={"size": 5}, options={"rank": rank, "world_size": 2})
    add("rank 1 of 2 of a global batch", "odd", small, batch={"size": 0, "global_size": 8}, options={"rank": 1, "world_size": 2})
    add("from the middle on", "odd", small, order={"epochs": 3}, options={"epoch": 1, "step": 2})
    add("another batch size", "odd", small, options={"batch_size": 4})
    add("a shared stream, cut anew", "odd", small, order={"epochs": 2}, share="stream", told={"others": [7, 3]})
    pipelines.mix("mix, without weights", (0, 0), {"epochs": 2})
    pipelines.mix("mix, in order", (0, 0), {"shuffle": False})
    pipelines.mix("mix, weights", (0.7, 0.3), {"epochs": 2, "epoch_samples": 90})
    pipelines.mix("mix, exact weights", (3, 1), {"mix": "exact", "epoch_samples": 60})
    pipelines.mix("mix, cached", (1, 2), {"epochs": 3, "epoch_samples": 90}, cache="decoded", told={"is_kept": True})


def make(folder, pictures):
    """Returns the pipelines over `pictures` (<class>/<name>.jpg) and over the data sets in `folder`."""
    pipelines = Set(folder, pictures)
    for add in (add_pixels, add_caches, add_fields, add_bad, add_orders):
        add(pipelines)
    for pipeline in pipelines.all:
        pipeline["spec"]["batch"] = {key: value for key, value in pipeline["spec"]["batch"].items() if value}
    return pipelines.all
