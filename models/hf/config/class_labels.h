// The labels of a classifier in its config.json: id2label, label2id and num_labels. Internal to hf.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace weft::hf {

/// Returns the number of labels: the number of entries of id2label, else num_labels (also as
/// _num_labels), else the number of entries of label2id, else `otherwise`. Throws FormatError if
/// these keys contradict each other, have the wrong type, or specify no label.
std::int64_t label_count(const nlohmann::json& config, std::int64_t otherwise = 2);

/// Returns the names of the labels in order of their ids, or an empty list if the config contains
/// no names. id2label may be an object or a list, and names may be numbers. If there is no
/// id2label, the names in label2id are used. Throws a FormatError that names the key and the ids if
/// ids have no name, if keys are not ids, or if label2id contradicts id2label. A label2id that
/// contains only the default names LABEL_0, LABEL_1, ... contradicts nothing. Several ids may have
/// the same name.
std::vector<std::string> label_names(const nlohmann::json& config);

}  // namespace weft::hf
