#include "weft/models/inputs/image_info.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "weft/core/error.h"
#include "weft/serialization/files/strict_json.h"

namespace weft {
namespace {

constexpr const char* kName = "model.images";

}  // namespace

std::string ImageInfo::to_json() const {
  nlohmann::ordered_json out;
  if (!classes.empty()) out["classes"] = classes;
  out["mean"] = normalisation.mean;
  out["deviation"] = normalisation.deviation;
  if (geometry)
    out["geometry"] = nlohmann::ordered_json::parse(ImageGeometry::fields().to_json(*geometry));
  return out.dump();
}

ImageInfo ImageInfo::from_json(std::string_view text) {
  const auto parsed = parse_json_object(text, kName);
  try {
    ImageInfo info;
    if (parsed.contains("classes"))
      info.classes = parsed.at("classes").get<std::vector<std::string>>();
    info.normalisation = {parsed.at("mean").get<std::vector<double>>(),
                          parsed.at("deviation").get<std::vector<double>>()};
    if (const auto found = parsed.find("geometry"); found != parsed.end())
      info.geometry = ImageGeometry::fields().from_json(found->dump());
    return info;
  } catch (const nlohmann::json::exception& e) {
    throw FormatError(
        fmt::format("the attachment '{}' is not valid image information: {}", kName, e.what()));
  }
}

}  // namespace weft
