#include "weft/models/tasks/legacy_files.h"

#include <nlohmann/json.hpp>

#include "weft/models/training/model.h"
#include "weft/serialization/files/strict_json.h"

namespace weft {

std::string legacy_task(const Checkpoint& file) {
  const Attachment* config = file.find_attachment(kConfigPart);
  if (config == nullptr) return {};
  if (config->type == kConfigType<GptConfig>) return "next-token";
  if (config->type == kConfigType<VitConfig>)
    return file.has_program("reconstruct") ? "masked-image" : "image-classification";
  const auto objective = [&](const char* name, const char* otherwise) -> std::string {
    const Attachment* options = file.find_attachment(name);
    if (options == nullptr) return otherwise;
    return parse_json_object(options->bytes, name).value("objective", otherwise);
  };
  if (config->type == kConfigType<EncoderDecoderConfig>)
    return objective("train.denoising", "translation");
  if (config->type == kConfigType<EncoderConfig>)
    return file.has_program("classify") ? "text-classification"
                                        : objective("train.pretraining", "mlm");
  return {};
}

}  // namespace weft
