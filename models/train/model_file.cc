#include "weft/models/train/model_file.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/run/nonfinite.h"

namespace weft {

std::string config_type(const Checkpoint& checkpoint) {
  const Attachment* config = checkpoint.find_attachment(kConfigAttachment);
  return config == nullptr ? "" : config->type;
}

ModelFile::ModelFile(const std::string& path, std::string_view type, std::string_view kind)
    : path_(path), kind_(kind), checkpoint_(load_checkpoint(path, {.verify = true})) {
  attachment(kConfigAttachment);
  const std::string found = config_type(checkpoint_);
  if (found != type) {
    throw FormatError(fmt::format("{} holds no {}: its configuration is a '{}', not a '{}'", path_,
                                  kind_, found, type));
  }
  check_finite(*checkpoint_.store(), path_);
}

const std::string& ModelFile::attachment(std::string_view name) const {
  const Attachment* found = checkpoint_.find_attachment(name);
  if (found == nullptr) {
    throw FormatError(fmt::format(
        "{} holds no {}: it lacks the attachment '{}' (weft train writes it)", path_, kind_, name));
  }
  return found->bytes;
}

const Program& ModelFile::program(std::string_view name) const {
  if (!checkpoint_.has_program(name)) {
    throw FormatError(fmt::format("{} holds no {}: it lacks the program '{}'", path_, kind_, name));
  }
  return checkpoint_.program(name);
}

Program ModelFile::program_if_there(const char* name) const {
  return checkpoint_.has_program(name) ? checkpoint_.program(name) : Program(name);
}

}  // namespace weft
