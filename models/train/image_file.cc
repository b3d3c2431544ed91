#include "weft/models/train/image_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "weft/core/error.h"
#include "weft/serialization/strict_json.h"

namespace weft {
namespace {

constexpr const char* kAugmentation = "train.augmentation";

std::string images_to_json(const ImageFile& parts) {
  nlohmann::ordered_json out;
  if (!parts.classes.empty()) out["classes"] = parts.classes;
  out["mean"] = parts.normalisation.mean;
  out["deviation"] = parts.normalisation.deviation;
  return out.dump();
}

/// Classes and normalisation from their attachment.
void read_images(const std::string& text, ImageFile& parts) {
  try {
    const auto parsed = parse_json_object(text, kImagesAttachment);
    if (parsed.contains("classes"))
      parts.classes = parsed.at("classes").get<std::vector<std::string>>();
    parts.normalisation = {parsed.at("mean").get<std::vector<double>>(),
                           parsed.at("deviation").get<std::vector<double>>()};
    parts.normalisation.check(parts.config.channels);
  } catch (const nlohmann::json::exception& e) {
    throw FormatError(fmt::format("the attachment '{}' is no description of images: {}",
                                  kImagesAttachment, e.what()));
  } catch (const ArgumentError& e) {
    throw FormatError(fmt::format("the attachment '{}': {}", kImagesAttachment, e.what()));
  }
}

}  // namespace

std::vector<Attachment> image_attachments(const ImageFile& parts) {
  return {{kConfigAttachment, kVitConfigType, parts.config.to_json()},
          {kImagesAttachment, "weft.images", images_to_json(parts)},
          {kAugmentation, "weft.train.augmentation", parts.augmentation.to_json()},
          {kSettingsAttachment, "weft.train.settings", parts.settings.to_json()},
          {kHistoryAttachment, "weft.train.history", parts.history.to_json()}};
}

ImageFile read_image_file(const ModelFile& file) {
  ImageFile parts{VitConfig::from_json(file.attachment(kConfigAttachment)),
                  {},
                  {},
                  ImageAugmentation::from_json(file.attachment(kAugmentation)),
                  TrainSettings::from_json(file.attachment(kSettingsAttachment)),
                  TrainHistory::from_json(file.attachment(kHistoryAttachment))};
  read_images(file.attachment(kImagesAttachment), parts);
  return parts;
}

bool holds_masked_image_model(const Checkpoint& file) {
  return config_type(file) == kVitConfigType && file.has_program("reconstruct");
}

}  // namespace weft
