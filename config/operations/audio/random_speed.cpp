#include <algorithm>
#include <cmath>

#include "config/operation_types.h"
#include "config/operations/audio/audio.h"
#include "config/operations/common.h"

namespace spdld::config::ops {
namespace {

void check_speed(OperationSpec& spec, const Complain& complain) {
  const auto is_fine = [](double factor) { return std::round(factor * 1000) / 1000 != factor; };
  const auto& factors = spec.numbers("factors");
  if (std::any_of(factors.begin(), factors.end(), is_fine))
    complain("factors", "must have at most three digits behind the point, such as [0.9, 1, 1.1]");
  check_draw(spec, complain);
}

std::string bind_speed(const OperationSpec& spec, Signature& signature) {
  const auto& factors = spec.numbers("factors");
  const double slowest = *std::min_element(factors.begin(), factors.end());
  const auto most = signature.dimensions[0].most();
  if (!most) return bind_samples(signature, {});
  const double samples = std::ceil(static_cast<double>(*most) / slowest) + 1;
  if (samples > kAudioSamplesMax) return "makes sounds of more than 268435456 samples";
  return bind_samples(signature, Dimension::bounded(static_cast<int64_t>(samples)));
}

}  // namespace

OperationType random_speed() {
  return {.name = "random-speed",
          .takes = SignatureKind::kAudio,
          .gives = SignatureKind::kAudio,
          .help = "Play the sound faster or slower, by resampling: its pitch and its length change.",
          .parameters = {{.name = "factors",
                          .type = ParameterType::kNumbers,
                          .help = "one of them is drawn, each as likely as the others",
                          .fallback = Value(std::vector<double>{0.9, 1, 1.1}),
                          .min = 0.25,
                          .max = 4,
                          .count_min = 1,
                          .count_max = 16},
                         draw()},
          .bind = bind_speed,
          .check = check_speed,
          .version = 2};
}

}  // namespace spdld::config::ops
