// Names of keys in the JSON files of model folders that do not change any result. Internal to hf.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace weft::hf {

/// Returns true if a key with this name holds bookkeeping in every file: the versions of libraries,
/// the origin of the file, settings of other programs.
bool is_bookkeeping_key(std::string_view name);

/// Returns true if a key of a model's config.json does not affect the values or gradients of any
/// supported model type: special ids, defaults of text generation (which generation_config()
/// reads), dropout in heads, and keys that no supported class reads.
bool is_harmless_model_key(std::string_view name);

/// Returns true if the value turns an unknown feature off: null, false, or an empty container.
/// Libraries add their features with such defaults, so that older models keep their results.
bool is_off(const nlohmann::json& value);

/// Returns true if this value of a key in a model's config.json is the only behaviour that model
/// types without this key have, for example "layer_types" with full attention in every layer.
/// `config` is the whole object.
bool is_usual_value(std::string_view name, const nlohmann::json& value,
                    const nlohmann::json& config);

}  // namespace weft::hf
