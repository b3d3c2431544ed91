// The files with settings in a model folder, and the removal of keys from them. Internal to hf.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weft::hf {

/// Returns the names of the settings files that Hugging Face transformers reads from the folder of
/// a model.
const std::vector<std::string>& settings_files();

/// Returns the names of the settings file of Sentence Transformers' module Transformer. The first
/// existing file is used.
const std::vector<std::string>& transformer_settings_files();

/// Returns the paths of all JSON files with settings in a folder, including adapter_config.json,
/// the files of Sentence Transformers, and the config.json of every module in a subfolder
/// ("2_Dense/config.json").
std::vector<std::string> json_files_in(const std::string& folder);

/// Removes keys from a JSON object. In `keys`, a dot separates the key of an object from a key
/// within it. Adds the removed keys to `found`. Returns `text` unchanged if it contains none of the
/// keys or is not an object. Throws FormatError, with the file name `file`, if it is not JSON.
std::string without_keys(std::string_view text, const std::string& file,
                         const std::vector<std::string>& keys, std::set<std::string>& found);

}  // namespace weft::hf
