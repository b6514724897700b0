// Carries warps out exactly as the daemon's decode threads do, with parameters that are given, for comparison with
// torchvision.
//
//   warp_dump < REQUESTS
//
// A request is a line of JSON and then the source's pixels in rows:
//   {"kind": "affine" | "rotate" | "perspective" | "elastic", "source": [w, h], "channels": 1 | 3, "filter": "...",
//    "fill": [r, g, b], "boxes": [[x1, y1, x2, y2], ...], and the parameters of the function of warp.h}
// The answer is a line of JSON {"size": [w, h], "boxes": [...]}, then the result's pixels.
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "daemon/media/image/adjustments/warp.h"
#include "daemon/media/image/geometry/view.h"

namespace {

using namespace spdld::image;
using nlohmann::json;
using spdld::Size;

std::optional<Place> center_of(const json& request) {
  if (!request.contains("center")) return std::nullopt;
  return Place{request["center"][0], request["center"][1]};
}

std::array<Place, 4> places_of(const json& places) {
  std::array<Place, 4> made;
  for (size_t i = 0; i < 4; ++i) made[i] = {places[i][0], places[i][1]};
  return made;
}

Warp warp_of(const json& request) {
  const Size source = {request["source"][0], request["source"][1]};
  const std::string kind = request["kind"];
  if (kind == "affine")
    return affine_warp(source, {request["angle"], request["translate"][0], request["translate"][1], request["scale"],
                                request["shear"][0], request["shear"][1], center_of(request)});
  if (kind == "rotate") return rotate_warp(source, request["angle"], center_of(request), request["expand"]);
  if (kind == "perspective") return perspective_warp(source, places_of(request["from"]), places_of(request["to"]));
  return elastic_warp(source, request["seed"], {request["alpha"], request["alpha"]},
                      {request["sigma"], request["sigma"]});
}

json boxes_of(const json& request, const Warp& warp) {
  View view;
  Geometry geometry;
  resolve({}, warp.source, {}, geometry);
  Adjustment adjustment{.type = AdjustmentType::kWarp};
  adjustment.warp = warp;
  adjust(adjustment, geometry);
  view.picture = warp.source;
  view.passes = geometry.passes;
  view.moves = geometry.adjustments;
  json boxes = json::array();
  for (const auto& box : request["boxes"]) {
    const Corners at = seen(view, Corners{box[0], box[1], box[2], box[3]});
    boxes.push_back({at.x1, at.y1, at.x2, at.y2});
  }
  return boxes;
}

}  // namespace

int main() {
  Warper warper;
  for (std::string line; std::getline(std::cin, line);) {
    const json request = json::parse(line);
    Warp warp = warp_of(request);
    warp.filter = filter_named(std::string(request["filter"]));
    for (size_t i = 0; i < 3; ++i) warp.fill[i] = request["fill"][i];
    const int channels = request["channels"];
    const auto bytes_of = [channels](const Size& size) {
      return size_t(size.width) * size_t(size.height) * size_t(channels);
    };
    std::vector<uint8_t> pixels(bytes_of(warp.source)), out(bytes_of(warp.size));
    std::cin.read(reinterpret_cast<char*>(pixels.data()), static_cast<std::streamsize>(pixels.size()));
    warper.run(warp, pixels.data(), channels, out.data());
    std::cout << json{{"size", {warp.size.width, warp.size.height}}, {"boxes", boxes_of(request, warp)}} << '\n';
    std::cout.write(reinterpret_cast<const char*>(out.data()), static_cast<std::streamsize>(out.size()));
    std::cout.flush();
  }
}
