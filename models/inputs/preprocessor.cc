#include "weft/models/inputs/preprocessor.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/models/fields/read_json.h"
#include "weft/serialization/files/read_file.h"

namespace weft {
namespace {

using nlohmann::json;

/// Returns the values of `key`, one per channel. The file may contain a single number for all
/// channels. If `key` is missing, returns `otherwise` for every channel.
std::vector<double> per_channel(const json& object, const char* key, double otherwise,
                                std::int64_t channels, const std::string& path) {
  const auto found = object.find(key);
  const auto count = static_cast<std::size_t>(channels);
  if (found == object.end() || found->is_null()) return std::vector<double>(count, otherwise);
  std::vector<double> values;
  for (const json& value : found->is_array() ? *found : json::array({*found})) {
    if (!value.is_number())
      throw FormatError(fmt::format("{}: '{}' is {}, but must be a number or a list of numbers",
                                    path, key, found->dump()));
    values.push_back(value.get<double>());
  }
  if (values.size() == 1) values.resize(count, values.front());
  if (values.size() != count) {
    throw FormatError(fmt::format("{}: '{}' contains {} numbers, but images have {} channels", path,
                                  key, values.size(), channels));
  }
  return values;
}

}  // namespace

ImageNormalisation read_normalisation(const std::string& path, std::int64_t channels) {
  const json object = parse_json_object(read_whole_file(path), path);
  const auto flag = [&](const char* key) {
    const auto found = object.find(key);
    return found == object.end() || !found->is_boolean() || found->get<bool>();
  };
  double factor = 1;
  if (flag("do_rescale")) {
    double rescale = 1.0 / 255;
    if (const auto found = object.find("rescale_factor"); found != object.end())
      read_json(*found, "rescale_factor", rescale);
    factor = rescale * 255;
  } else {
    factor = 255;
  }
  if (!(factor > 0)) throw FormatError(fmt::format("{}: 'rescale_factor' must be positive", path));
  ImageNormalisation result{std::vector<double>(static_cast<std::size_t>(channels), 0),
                            std::vector<double>(static_cast<std::size_t>(channels), 1)};
  if (flag("do_normalize")) {
    result = {per_channel(object, "image_mean", 0.5, channels, path),
              per_channel(object, "image_std", 0.5, channels, path)};
  }
  for (double& mean : result.mean) mean /= factor;
  for (double& deviation : result.deviation) deviation /= factor;
  return result;
}

}  // namespace weft
