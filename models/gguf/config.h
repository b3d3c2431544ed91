// Conversion between the metadata of GGUF files and GptConfig. Internal to models/gguf.
#pragma once

#include <string>
#include <vector>

#include "weft/models/families/gpt_config.h"
#include "weft/models/gguf/architecture.h"
#include "weft/serialization/gguf/gguf.h"

namespace weft::gguf {

/// Returns the config of a model. The presence of tensors decides about biases, the head, norms of
/// queries and keys, and fused projections; keys decide about all other settings. Appends notes for
/// users on keys that have no effect. Throws a FormatError that names the path, the key and the
/// byte offset if a key is missing, unknown or not supported, and ArgumentError if the values
/// contradict each other.
GptConfig read_config(const GgufFile& file, const Architecture& architecture,
                      std::vector<std::string>& notes);

/// Writes the keys of a config. Settings that the architecture cannot express are left out.
void write_config(GgufMetadata& metadata, const Architecture& architecture,
                  const GptConfig& config);
/// Returns the tensors that a config itself requires: divisors of rotary frequencies.
std::vector<GgufTensor> config_tensors(const GptConfig& config);
/// Returns true if a file stores this tensor as part of the config.
bool is_config_tensor(std::string_view name);

/// Returns the settings in which the model `written` differs from the model `read`, which was read
/// from its metadata: "window_layers is 10, but would be 110". Ignores settings that affect only
/// training or the storage of weights.
std::vector<std::string> config_differences(const GptConfig& written, const GptConfig& read,
                                            const Architecture& architecture);

}  // namespace weft::gguf
