// The types of source of config/sources.inc that have no file of their own.
#include "config/source_types.h"

#include <algorithm>
#include <vector>

#include "config/condition/condition.h"

namespace spdld::config {
namespace source_types {
namespace {

using Type = ParameterType;

Parameter keep_or_drop(std::string_view name, std::string_view help) {
  return {.name = name,
          .type = Type::kChoice,
          .help = help,
          .fallback = Value(std::string("keep")),
          .choices = {"keep", "drop"}};
}

Parameter text(std::string_view name, std::string_view help, std::string_view fallback) {
  return {.name = name, .type = Type::kText, .help = help, .fallback = Value(std::string(fallback))};
}

Parameter column(std::string_view name, std::string_view help) {
  return {.name = name, .type = Type::kText, .help = help, .fallback = Value(std::string())};
}

Parameter columns(std::string_view name, std::string_view help) {
  return {.name = name, .type = Type::kNames, .help = help, .fallback = Value(std::string())};
}

Parameter condition() {
  return text(
      kConditionKey,
      "the rows to take, by their columns: \"split == 'train' and (width >= 224 or label in ('cat', 'dog')) and "
      "not text is null\"; by default all",
      "");
}

void check_condition(const SourceSpec& spec, const Complain& complain) {
  const auto& text = std::get<std::string>(spec.parameters.find(kConditionKey)->second);
  if (text.empty()) return;
  const ParsedCondition parsed = parse_condition(text);
  if (!parsed.condition) complain(kConditionKey, parsed.error);
}

// A column's bytes have one meaning.
void check_manifest(const SourceSpec& spec, const Complain& complain) {
  check_condition(spec, complain);
  const auto text = [&](std::string_view name) { return std::get<std::string>(spec.parameters.find(name)->second); };
  if (!spec.classes.empty() && text("class").empty())
    complain("classes", "needs class, which names the column of the classes");
  const auto files = names_in(text("files"));
  for (const std::string& name : names_in(text("base64"))) {
    if (std::find(files.begin(), files.end(), name) != files.end())
      complain("base64", "names a column that files names as well: its texts are paths, or they are base64");
  }
}

constexpr std::string_view kPictureExtensions = "jpg,jpeg,png,bmp,tif,tiff,webp";

}  // namespace

SourceType image_folder() {
  return {.name = "image-folder",
          .help =
              "A folder with a folder of pictures for each class; classes are numbered in their names' order, or as "
              "the source's key classes says.",
          .fields = {"image", "class", "path"},
          .parameters = {{.name = "extensions",
                          .type = Type::kText,
                          .help = "which files are pictures: comma-separated, without dots, upper case or lower",
                          .fallback = Value(std::string("jpg,jpeg"))}},
          .takes_classes = true,
          .reads = "folder"};
}

SourceType images() {
  return {.name = "images",
          .help = "A folder of pictures without classes, with all folders in it, in the order of their paths.",
          .fields = {"image", "path"},
          .parameters = {{.name = "extensions",
                          .type = Type::kText,
                          .help = "which files are pictures: comma-separated, without dots, upper case or lower",
                          .fallback = Value(std::string("jpg,jpeg"))}}};
}

SourceType webdataset() {
  return {
      .name = "webdataset",
      .help =
          "Tar archives in which the members of one sample follow one another and share their name up to its first "
          "dot; a field is a member's extension, and path the sample's key. from = \"jpg;jpeg;png\" takes the first "
          "of these that a sample has, and from = \"json:meta.label\" a value in a json member. The uri may have "
          "braces and wildcards (a-{000..127}.tar, {train,extra}/*.tar), be a folder, or a list of uris, which "
          "follow one another. Archives may be compressed (.tar.gz, .tgz, .tar.zst): they are unpacked from their "
          "beginning to their end, so that order.shuffle must be \"window\" or \"off\".",
      .fields = {},
      .parameters = {},
      .takes_patterns = true,
      .takes_stream_bytes = true,
      .takes_access = true,
      .reads = "archive"};
}

SourceType manifest() {
  return {
      .name = "manifest",
      .help =
          "A table in text: a CSV or TSV file whose first line names the columns, or JSON lines. Every column is a "
          "field: the bytes of the file that a column of files names, the bytes that base64 stands for, or the "
          "column's text as it is; __key__ is the sample's name. from = \"meta:label.id\" takes a value in a column "
          "that holds JSON. The uri may have braces and wildcards, or be a list of uris, which follow one another. "
          "Files may be compressed by gzip or zstd.",
      .fields = {},
      .parameters =
          {{.name = "format",
            .type = Type::kChoice,
            .help = "what the files are; auto: as their names end, in .tsv, .jsonl, .ndjson or .json, and else csv",
            .fallback = Value(std::string("auto")),
            .choices = {"auto", "csv", "tsv", "jsonl"}},
           columns(
               "files",
               "columns that hold paths or urls of files; relative paths begin at the folder of the manifest's file"),
           columns("base64", "columns whose texts are bytes in base64"),
           column("class",
                  "a column whose distinct texts, sorted or in the order of the source's key classes, are numbered as "
                  "the integer field class"),
           column("key", "a column that names the samples; by default they are named by their numbers"),
           condition()},
      .takes_patterns = true,
      .takes_stream_bytes = true,
      .name_field = kTableNameField,
      .class_parameter = "class",
      .has_weights_column = true,
      .has_groups_column = true,
      .takes_classes = true,
      .check = check_manifest};
}

SourceType coco() {
  return {
      .name = "coco",
      .help =
          "Files of annotations in COCO's form (instances, person_keypoints or captions in JSON). A sample is a "
          "picture, "
          "in the order of the ids. boxes (xywh), labels, category_ids, areas, iscrowd, annotation_ids, keypoints, "
          "captions and segmentations are lists with an element for each of its annotations, in the file's order. "
          "labels number the categories from 0, in the order of their ids. The uri names the file of annotations; it "
          "may have braces and wildcards, or be a list of uris, which follow one another.",
      .fields = {"image", "path", "image_id", "boxes", "labels", "category_ids", "areas", "iscrowd", "annotation_ids",
                 "keypoints", "captions", "segmentations"},
      .parameters = {{.name = "images",
                      .type = Type::kText,
                      .help =
                          "the folder of the pictures, such as \"../train2017\"; it begins at the folder of the file "
                          "of annotations, and may be a url or an absolute path",
                      .fallback = Value(std::string())},
                     keep_or_drop("crowd", "keep: annotations of crowds are kept; drop: they are left out"),
                     keep_or_drop("empty", "keep: pictures without annotations are kept; drop: they are left out")},
      .takes_patterns = true};
}

SourceType voc() {
  return {
      .name = "voc",
      .help =
          "A folder in the form of PASCAL VOC: JPEGImages, Annotations and ImageSets. A sample is a name of one "
          "list of ImageSets, in the list's order. boxes (xyxy, as the files have them: the first pixel is 1), "
          "labels, classes, difficult and truncated are lists with an element for each object. class_mask and "
          "object_mask are the PNG files of SegmentationClass and SegmentationObject.",
      .fields = {"image", "path", "class_mask", "object_mask", "boxes", "labels", "classes", "difficult", "truncated"},
      .parameters = {text("set", "the list below ImageSets, without .txt: \"Segmentation/val\"", "Main/train"),
                     columns(
                         "names",
                         "the classes in the order of their labels, in place of the source's key classes; by default "
                         "the 20 of PASCAL VOC"),
                     keep_or_drop("difficult", "keep: objects that are difficult are kept; drop: they are left out"),
                     text("ending", "how the pictures' names end, without the dot", "jpg")},
      .takes_classes = true,
      .check = [](const SourceSpec& spec, const Complain& complain) {
        const bool has_names = !std::get<std::string>(spec.parameters.find("names")->second).empty();
        if (has_names && !spec.classes.empty()) complain("classes", "may not stand beside names");
      }};
}

SourceType yolo() {
  return {
      .name = "yolo",
      .help =
          "A folder in the form of YOLO's loaders: pictures, and for each a .txt file of labels under the same "
          "name, with a class and a box or a polygon in each line. boxes (cxcywh), labels and segmentations are "
          "lists with an element for each line. Their numbers are parts of the picture's width and height, for "
          "boxes with relative = true. A picture without a file of labels shows nothing.",
      .fields = {"image", "path", "boxes", "labels", "segmentations"},
      .parameters = {text("images", "the folder of the pictures, below the uri", "images/train"),
                     text("labels",
                          "the folder of the labels, below the uri; by default as images, with the step \"labels\" "
                          "in the place of \"images\"",
                          ""),
                     text("extensions", "which files are pictures: comma-separated, without dots", kPictureExtensions),
                     columns("names", "the classes in the order of their numbers"),
                     text("names_file", "a description below the uri that lists `names`, such as \"data.yaml\"", ""),
                     keep_or_drop("empty", "keep: pictures that show nothing are kept; drop: they are left out")},
      .check = [](const SourceSpec& spec, const Complain& complain) {
        const auto has = [&](std::string_view name) {
          return !std::get<std::string>(spec.parameters.find(name)->second).empty();
        };
        if (has("names") && has("names_file")) complain("names_file", "may not stand beside names");
      }};
}

SourceType image_pairs() {
  return {
      .name = "image-pairs",
      .help =
          "Pictures and their masks, in two folders: files that belong together have the same path from their "
          "folder on, but for the ending and the suffix. mask is for decode-mask.",
      .fields = {"image", "path", "mask"},
      .parameters = {text("images", "the folder of the pictures, below the uri", "images"),
                     text("masks", "the folder of the masks, below the uri", "masks"),
                     text("extensions", "which files are pictures: comma-separated, without dots", kPictureExtensions),
                     text("mask_extensions", "which files are masks: comma-separated, without dots", "png"),
                     text("image_suffix", "how the pictures' names end before the dot: \"_leftImg8bit\"", ""),
                     text("mask_suffix", "how the masks' names end before the dot: \"_mask\"", ""),
                     columns("names", "the classes in the order of the masks' values")}};
}

SourceType npy() {
  return {.name = "npy",
          .help =
              "The rows of .npy files, along their first dimension: the field array has a row's values, for raw with "
              "the file's dtype and the shape of a row; __key__ is the sample's name. Several files must have one "
              "dtype and one shape of rows. The uri may have braces and wildcards, be a folder of .npy files, or be a "
              "list of uris, which follow one another.",
          .fields = {"array", kTableNameField},
          .parameters = {},
          .takes_patterns = true,
          .name_field = kTableNameField};
}

SourceType records() {
  return {.name = "records",
          .help =
              "Files of records that all have the same number of bytes: the field record has a record's bytes, and raw "
              "and raw-int take parts of them; __key__ is the sample's name. The uri may have braces and wildcards, "
              "or be a list of uris, which follow one another.",
          .fields = {"record", kTableNameField},
          .parameters =
              {{.name = "record_bytes", .type = Type::kInteger, .help = "of each record", .min = 1, .max = 1u << 30},
               {.name = "header_bytes",
                .type = Type::kInteger,
                .help = "at the start of each file, before the first record",
                .fallback = Value(int64_t{0}),
                .min = 0,
                .max = 1u << 30}},
          .takes_patterns = true,
          .name_field = kTableNameField};
}

SourceType tfrecord() {
  return {.name = "tfrecord",
          .help =
              "TFRecord files of tf.train.Example messages, with their checksums: a field is a feature. A feature of "
              "bytes gives its bytes, for decode-image or parse-int; int64 and float features give their values, for "
              "raw with dtype \"int64\" or \"float32\", or raw-int; __key__ is the sample's name. The uri may have "
              "braces and wildcards, be a folder of .tfrecord files, or be a list of uris, which follow one another. "
              "Files may be compressed by gzip or zstd, so that order.shuffle must be \"window\" or \"off\".",
          .fields = {},
          .parameters = {columns("features", "the features that there are; by default the first records say it")},
          .takes_patterns = true,
          .takes_stream_bytes = true,
          .name_field = kTableNameField};
}

SourceType mds() {
  return {
      .name = "mds",
      .help =
          "Folders of MosaicML Streaming's shards (MDS) with their index.json: a field is a column. bytes, str, "
          "jpeg, png and other encodings give their bytes, for decode-image or bytes; int, uint8, float32 and "
          "their like, and ndarray with a shape, give their values, for raw or raw-int. A column of ndarray without "
          "a shape gives .npy files, for parse-npy. __key__ is the sample's name. The uri may have braces and "
          "wildcards, or be a list of folders, which follow one another. Shards may be compressed by zstd or "
          "gz, so that order.shuffle must be \"window\" or \"off\".",
      .fields = {},
      .parameters = {},
      .takes_patterns = true,
      .takes_stream_bytes = true,
      .name_field = kTableNameField};
}

SourceType parquet() {
  return {.name = "parquet",
          .help =
              "The rows of Parquet files: a field is a column. Texts and binary values give their bytes, for "
              "decode-image or bytes; numbers, dates, times and lists of numbers give their values, for raw. Decimals "
              "are float64; a list of texts is a text in JSON. a.b is the field b of a struct, NAME.is_null is 1 where "
              "a column has no value, and __key__ is the sample's name. Only the columns that outputs are made from "
              "are read, a row group at a time: order.shuffle should be \"window\" or \"off\". The uri may have "
              "braces and wildcards, be a folder of .parquet files, or be a list of uris, which follow one another.",
          .fields = {},
          .parameters = {{.name = "nulls",
                          .type = Type::kChoice,
                          .help = "bad: a row without a value that an output needs is a bad sample; default: it has "
                                  "null_number or null_text",
                          .fallback = Value(std::string("bad")),
                          .choices = {"bad", "default"}},
                         {.name = "null_number",
                          .type = Type::kNumber,
                          .help = "beside nulls = \"default\": the number that stands for a null",
                          .fallback = Value(0.0),
                          .min = -1.7976931348623157e308,
                          .max = 1.7976931348623157e308},
                         {.name = "null_text",
                          .type = Type::kText,
                          .help = "beside nulls = \"default\": the text or bytes that stand for a null",
                          .fallback = Value(std::string())},
                         condition()},
          .takes_patterns = true,
          .takes_stream_bytes = true,
          .name_field = kTableNameField,
          .has_groups_column = true,
          .check = check_condition};
}

}  // namespace source_types

std::span<const SourceType> sources() {
  static const std::vector<SourceType> table = {
#define SOURCE(name, room) source_types::name(),
#include "config/sources.inc"
#undef SOURCE
  };
  return table;
}

std::optional<RawValues> raw_values(const ValueType& type) {
  if (!type.dtype) return std::nullopt;
  if (!type.shape.empty() && type.shape.front() < 0) return RawValues{.dtype = type.dtype};
  return RawValues{.dtype = type.dtype, .shape = type.shape};
}

std::vector<NamedValueType> item_values(const SourceSpec& source) {
  return value_types_in(std::get<std::string>(source.parameters.at("gives"))).value();
}

bool is_made(const SourceSpec& spec) {
  const SourceType* const type = find_source(spec.type);
  return type != nullptr && !type->executor.empty();
}

bool has_condition(const SourceSpec& spec) {
  const auto found = spec.parameters.find(kConditionKey);
  return found != spec.parameters.end() && found->second != Value(std::string());
}

}  // namespace spdld::config
