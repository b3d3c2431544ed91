// weft generate over a Hugging Face folder: ids in, ids out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::program {

struct FolderGeneration {
  std::string folder;
  std::string prompt_ids;  // "1 2 3"
  // What is not given is as generation_config.json says (config.json, where there is none).
  std::optional<std::int64_t> beams, max_length, results;
  std::optional<double> length_penalty;
  int threads = 0;
};

/// The ids that a folder's model makes of the prompt: `results` sequences, best first, a decoder's
/// with the prompt in front, an encoder-decoder's with the id that it starts from. Throws
/// UsageError for a prompt that is not ids and for models that generate nothing, ArgumentError for
/// settings of generation that are not supported, naming them.
std::vector<std::vector<std::int64_t>> generate_ids(const FolderGeneration& request);

}  // namespace weft::program
