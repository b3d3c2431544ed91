#include "weft/models/train/pretraining_objective.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/models/json_fields.h"

namespace weft {
namespace {

const auto kFields = [](auto& o, auto&& visit) {
  visit("objective", o.objective);
  visit("whole_words", o.whole_words);
  visit("generator_share", o.generator_share);
  visit("replaced_weight", o.replaced_weight);
};

}  // namespace

void parse_field(std::string_view name, PretrainingObjective& objective) {
  objective =
      json_fields::parse_choice<PretrainingObjective>(kPretrainingObjectives, name, "objective");
}

void PretrainingOptions::check() const {
  if (!(generator_share > 0 && generator_share <= 1))
    throw ArgumentError(fmt::format("generator_share must be in (0, 1], not {}", generator_share));
  if (!(replaced_weight > 0 && replaced_weight <= 1e6))
    throw ArgumentError(
        fmt::format("replaced_weight must be in (0, 1000000], not {}", replaced_weight));
}

std::string PretrainingOptions::to_json() const {
  return json_fields::write_object(*this, kFields).dump();
}

PretrainingOptions PretrainingOptions::from_json(std::string_view text) {
  PretrainingOptions options;
  json_fields::read_object(json_fields::parse_object(text, "the pre-training options"), options,
                           kFields, "the pre-training options");
  options.check();
  return options;
}

}  // namespace weft
