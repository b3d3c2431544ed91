// weft verify: checks that files are intact.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/graph/engine/nonfinite.h"
#include "weft/models/hf/adapters/adapter_folder.h"
#include "weft/models/hf/folder.h"
#include "weft/models/program/commands/commands.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/text/tokens/token_set.h"
#include "weft/serialization/checkpoint.h"
#include "weft/serialization/files/foreign_file.h"
#include "weft/serialization/files/strict_json.h"
#include "weft/serialization/safetensors.h"

namespace weft::program {
namespace {

namespace fs = std::filesystem;

std::string whole(const TensorMap& tensors, std::string_view more) {
  double bytes = 0;
  for (const auto& [name, tensor] : tensors) bytes += static_cast<double>(tensor.bytes());
  return fmt::format("intact: {} tensors, {}{}", tensors.size(), short_bytes(bytes), more);
}

/// Throws DataError if a weight contains NaN or infinity.
void check_weights(const TensorMap& weights, const std::string& path) {
  for (const auto& [name, tensor] : weights) {
    const std::optional<std::int64_t> index = first_nonfinite(tensor);
    if (!index) continue;
    throw DataError(fmt::format("{}: the weight '{}' is {} at {}", path, excerpt(name),
                                tensor.at(*index), place_text(tensor.sizes(), *index)));
  }
}

/// Returns a description of the file if it is intact. Otherwise throws an error that describes the
/// damage.
std::string verify(const std::string& path) {
  if (hf::is_adapter_folder(path)) {
    const hf::AdapterFolder folder = hf::read_adapter_folder(path);
    check_weights(folder.tensors, path);
    return whole(folder.tensors, ", and a config of adapters (the format has no checksums)");
  }
  if (fs::is_directory(path)) {
    const hf::Folder folder = hf::read_folder(path);
    check_weights(folder.weights, path);
    return whole(folder.weights, ", and a config (the weights' format has no checksums)");
  }
  if (is_token_set(path)) {
    const TokenSet set = TokenSet::open(path);
    for (const auto& file : set.files()) file->check_ids();
    return fmt::format("intact: {} token files, {} documents, {} ids, all checksums correct",
                       set.files().size(), set.documents(), set.tokens());
  }
  if (is_weft_file(path)) {
    const Checkpoint file = load_checkpoint(path, {.verify = true});
    if (!file.is_finite()) check_finite(*file.store(), path);
    return whole(file.tensors(), fmt::format(", {} programs, {} attachments, all checksums correct",
                                             file.programs().size(), file.attachments().size()));
  }
  if (fs::path(path).extension() == ".safetensors")
    return whole(read_safetensors(path).tensors, " (the format has no checksums)");
  const auto file = MappedFile::open(path);
  throw FormatError(fmt::format(
      "{} is not a .weft file, a .safetensors file, a Hugging Face folder or a token file{}", path,
      foreign_hint({reinterpret_cast<const char*>(file->data()), file->bytes()}, path)));
}

int run(const std::vector<std::string>& paths) {
  bool damaged = false;
  for (const std::string& path : paths) {
    try {
      say("{}: {}\n", path, verify(path));
    } catch (const Error& e) {
      // Continue with the other files.
      damaged = true;
      print_stderr("weft: {}\n", one_line(e.what()));
    }
  }
  return damaged ? 1 : 0;
}

}  // namespace

void add_verify_command(CLI::App& app, Action& action) {
  OptionList options(app, "verify",
                     "Check that files are intact: their structure and all checksums are correct, "
                     "they can be loaded, and their parameters are finite");
  const auto paths = std::make_shared<std::vector<std::string>>();
  options
      .inputs("files", *paths,
              ".weft files, .safetensors files, Hugging Face folders, token files; the exit code "
              "is 1 if one of them is damaged")
      .required();
  options.run(action, [paths] { return run(*paths); });
}

}  // namespace weft::program
