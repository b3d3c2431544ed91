// Command-line options made from the fields of a config: a new field is an option at once.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "weft/core/error.h"

namespace weft::program {

/// What the user gave, by field name.
using FieldValues = nlohmann::ordered_json;

/// Adds "--field-name" for every field of the JSON object `defaults` except those in `skip`; a bool
/// becomes a flag and its "--no-" form. Values given are put into `given`, which must outlive app.
void add_field_options(CLI::App& app, const std::string& group, const std::string& defaults,
                       const std::set<std::string>& skip, FieldValues& given);

/// `config` with the given fields replaced. ArgumentError for values that make no sense.
template <class Config>
Config with_fields(const Config& config, const FieldValues& given) {
  FieldValues all = FieldValues::parse(config.to_json());
  for (const auto& [name, value] : given.items()) all[name] = value;
  try {
    return Config::from_json(all.dump());
  } catch (const FormatError& e) {
    throw ArgumentError(e.what());  // no file is wrong, but a value that was given
  }
}

/// "layer_norm_eps" -> "--layer-norm-eps".
std::string option_name(const std::string& field);

}  // namespace weft::program
