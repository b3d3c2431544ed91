#include "weft/models/inputs/preprocessor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string_view>

#include "weft/core/error.h"
#include "weft/models/families/size_limits.h"
#include "weft/models/fields/check.h"
#include "weft/models/hf/config_reader.h"

namespace weft {
namespace {

using nlohmann::json;

constexpr std::array<double, 3> kStandard = {0.5, 0.5, 0.5};
constexpr std::array<double, 3> kImageNetMean = {0.485, 0.456, 0.406};
constexpr std::array<double, 3> kImageNetDeviation = {0.229, 0.224, 0.225};
constexpr std::array<double, 3> kClipMean = {0.48145466, 0.4578275, 0.40821073};
constexpr std::array<double, 3> kClipDeviation = {0.26862954, 0.26130258, 0.27577711};

/// The defaults of an image processor class. Its name is `name` + "ImageProcessor",
/// "ImageProcessorFast", "ImageProcessorPil" or "FeatureExtractor".
struct ProcessorClass {
  std::string_view name;
  ImageGeometry geometry;
  bool square = true;  // a single number is the height and the width, not the shorter edge
  std::array<double, 3> mean = kStandard, deviation = kStandard;
  bool normalises = true;
  bool crops_by_fraction = false;  // has crop_pct instead of crop_size (ConvNext)
};

// Aspect ratios are kept by the classes with shortest_edge.
constexpr auto kClip = ImageGeometry{
    .shortest_edge = 224, .filter = Interpolation::bicubic, .crop_height = 224, .crop_width = 224};
constexpr std::array<ProcessorClass, 9> kClasses = {{
    {"ViT", {.height = 224, .width = 224}},
    {"DeiT",
     {.height = 256,
      .width = 256,
      .filter = Interpolation::bicubic,
      .crop_height = 224,
      .crop_width = 224}},
    {"Beit",
     {.height = 256,
      .width = 256,
      .filter = Interpolation::bicubic,
      .crop_height = 224,
      .crop_width = 224}},
    {"DINOv3ViT", {.height = 224, .width = 224}, true, kImageNetMean, kImageNetDeviation},
    {"Siglip", {.height = 224, .width = 224, .filter = Interpolation::bicubic}},
    {"CLIP", kClip, false, kClipMean, kClipDeviation},
    {"Bit", kClip, false, kClipMean, kClipDeviation},
    {"ConvNext",
     {.shortest_edge = 384, .filter = Interpolation::bicubic},
     false,
     kStandard,
     kStandard,
     true,
     true},
    {"MobileViT",
     {.shortest_edge = 224, .crop_height = 256, .crop_width = 256, .flip_channels = true},
     false,
     kStandard,
     kStandard,
     false},
}};

const ProcessorClass* find_class(std::string_view name) {
  for (const ProcessorClass& found : kClasses) {
    if (!name.starts_with(found.name)) continue;
    const std::string_view ending = name.substr(found.name.size());
    for (const std::string_view known :
         {"ImageProcessor", "ImageProcessorFast", "ImageProcessorPil", "FeatureExtractor"}) {
      if (ending == known) return &found;
    }
  }
  return nullptr;
}

/// Reads one preprocessor_config.json.
class PreprocessorReader {
 public:
  PreprocessorReader(std::string_view text, const std::string& path, const std::string& model_type,
                     const ImageSize& size)
      : path_(path), size_(size), config_(text, path), class_(class_of(model_type)) {}

  ImageInfo read() {
    ImageInfo info;
    info.normalisation = normalisation();
    info.geometry = geometry();
    check_colours();
    check_padding(*info.geometry);
    config_.fixed("size_divisor", nullptr, "only fixed image sizes are supported")
        .fixed("size_divisibility", nullptr, "only fixed image sizes are supported")
        .fixed("data_format", "channels_first", "only this order of the axes is supported")
        .fixed("input_data_format", nullptr, "the axes of pictures have a fixed order")
        .fixed("auto_map", nullptr, "custom code is not supported")
        // Settings for segmentation maps, bookkeeping, and settings that only affect speed.
        .ignore({"_processor_class", "_valid_processor_keys", "default_to_square", "device",
                 "disable_grouping", "do_reduce_labels", "feature_extractor_type",
                 "image_seq_length", "image_processor_type", "processor_class", "reduce_labels",
                 "return_tensors"})
        .finish("the pixels");
    return info;
  }

 private:
  const ProcessorClass& class_of(const std::string& model_type) {
    std::string name = config_.text("image_processor_type");
    if (name.empty()) name = config_.text("feature_extractor_type");
    if (name.empty()) {
      name = "ViTImageProcessor";
      for (const auto& [type, own] : {std::pair{"deit", "DeiTImageProcessor"},
                                      {"beit", "BeitImageProcessor"},
                                      {"data2vec-vision", "BeitImageProcessor"},
                                      {"dinov2", "BitImageProcessor"},
                                      {"dinov2_with_registers", "BitImageProcessor"},
                                      {"dinov3_vit", "DINOv3ViTImageProcessorFast"}}) {
        if (model_type == type) name = own;
      }
      if (model_type.starts_with("clip")) name = "CLIPImageProcessor";
      if (model_type.starts_with("siglip")) name = "SiglipImageProcessor";
    }
    if (const ProcessorClass* found = find_class(name)) return *found;
    std::string known;
    for (const ProcessorClass& entry : kClasses)
      known += fmt::format("{}{}ImageProcessor", known.empty() ? "" : ", ", entry.name);
    throw ArgumentError(fmt::format("{}: the image processor {} is not supported; supported: {}",
                                    path_, name, known));
  }

  [[noreturn]] void fail(std::string_view what) const {
    throw FormatError(fmt::format("{}: {}", path_, what));
  }

  template <class T>
  T value(const char* key, T otherwise) {
    const json* found = config_.find(key);
    if (found == nullptr) return otherwise;
    try {
      read_json(*found, key, otherwise);
    } catch (const FormatError& e) {
      fail(e.what());
    }
    return otherwise;
  }

  ImageNormalisation normalisation() {
    const bool rescales = value("do_rescale", true);
    const double rescale = value("rescale_factor", 1.0 / 255);
    if (!(rescale > 0)) fail("'rescale_factor' must be positive");
    const double factor = rescales ? rescale * 255 : 255;
    const auto channels = static_cast<std::size_t>(size_.channels);
    ImageNormalisation result{std::vector<double>(channels, 0), std::vector<double>(channels, 1)};
    config_.ignore({"image_mean", "image_std"});
    if (value("do_normalize", class_.normalises)) {
      result = {per_channel("image_mean", class_.mean), per_channel("image_std", class_.deviation)};
    }
    for (double& mean : result.mean) mean /= factor;
    for (double& deviation : result.deviation) deviation /= factor;
    return result;
  }

  /// Returns the values of `key`, one per channel. The file may contain a single number for all
  /// channels.
  std::vector<double> per_channel(const char* key, const std::array<double, 3>& otherwise) {
    const json* found = config_.find(key);
    const auto count = static_cast<std::size_t>(size_.channels);
    std::vector<double> values;
    if (found == nullptr) {
      for (std::size_t c = 0; c < count; ++c)
        values.push_back(otherwise[std::min(c, otherwise.size() - 1)]);
      return values;
    }
    for (const json& entry : found->is_array() ? *found : json::array({*found})) {
      if (!entry.is_number())
        fail(fmt::format("'{}' is {}, but must be a number or a list of numbers", key,
                         found->dump()));
      values.push_back(entry.get<double>());
    }
    if (values.size() == 1) values.resize(count, values.front());
    if (values.size() != count)
      fail(fmt::format("'{}' contains {} numbers, but images have {} channels", key, values.size(),
                       size_.channels));
    return values;
  }

  ImageGeometry geometry() {
    // Settings of a step that is not applied have no effect.
    config_.ignore({"size", "resample", "crop_size", "crop_pct"});
    ImageGeometry g = class_.geometry;
    const bool resizes = value("do_resize", true);
    const bool crops = value("do_center_crop", g.crop_height > 0);
    const bool has_sizes = config_.find("size") != nullptr || config_.find("crop_size") != nullptr;
    g.flip_channels = value("do_flip_channel_order", g.flip_channels);
    if (resizes) {
      g.filter = filter();
      read_size(g);
    } else {
      g = {.crop_height = g.crop_height,
           .crop_width = g.crop_width,
           .flip_channels = g.flip_channels};
    }
    if (crops) {
      read_crop(g);
    } else {
      g.crop_height = g.crop_width = 0;
    }
    if (class_.crops_by_fraction) {
      if (resizes) crop_by_fraction(g, crops);
    } else {
      config_.fixed("crop_pct", nullptr, "only ConvNextImageProcessor has this setting");
    }
    try {
      g.check();
    } catch (const ArgumentError& e) {
      fail(e.what());
    }
    const std::string made = g.fixed_size();
    const std::string needed = fmt::format("{} x {}", size_.height, size_.width);
    if (made.empty() || made == needed) return g;
    if (!has_sizes && resizes) {
      return {.height = size_.height,
              .width = size_.width,
              .filter = g.filter,
              .flip_channels = g.flip_channels};
    }
    throw ArgumentError(
        fmt::format("{}: preprocessing results in images of {} pixels ({}), but the model requires "
                    "{} (image_size in config.json)",
                    path_, made, g.crop_height > 0 ? "crop_size" : "size", needed));
  }

  /// Padding to the size that images already have changes nothing, and neither does padding to the
  /// largest image of a batch, because all images have the size of the model.
  void check_padding(const ImageGeometry& g) {
    const json* found = config_.find("pad_size");
    if (!value("do_pad", false) || found == nullptr) return;
    std::int64_t height = 0, width = 0;
    read_height_width(*found, "pad_size", height, width);
    if (g.fixed_size() == fmt::format("{} x {}", height, width)) return;
    throw ArgumentError(
        fmt::format("{}: do_pad is true and pad_size is {}: padding is not supported", path_,
                    json_excerpt(*found)));
  }

  Interpolation filter() {
    const json* found = config_.find("resample");
    if (found == nullptr) return class_.geometry.filter;
    const ChoiceNames known = choice_names(Interpolation{});
    for (std::size_t i = 0; i < known.names.size(); ++i) {
      if (*found == json(i) || *found == json(known.names[i])) return static_cast<Interpolation>(i);
    }
    fail(
        fmt::format("'resample' must be 0 (nearest), 1 (lanczos), 2 (bilinear), 3 (bicubic), 4 "
                    "(box) or 5 (hamming), not {}",
                    json_excerpt(*found)));
  }

  std::int64_t length(const json& value, std::string_view key) const {
    std::int64_t result = 0;
    if (value.is_number_integer() && value.is_number_unsigned())
      result =
          static_cast<std::int64_t>(std::min<std::uint64_t>(value.get<std::uint64_t>(), 1 << 20));
    if (result < 1 || result > 65535)
      fail(
          fmt::format("'{}' must be an integer from 1 to 65535, not {}", key, json_excerpt(value)));
    return result;
  }

  void read_size(ImageGeometry& g) {
    const json* found = config_.find("size");
    if (found == nullptr) return;
    g.height = g.width = g.shortest_edge = g.longest_edge = 0;
    if (found->is_object()) {
      for (const auto& [key, entry] : found->items()) {
        std::int64_t* field = key == "height"          ? &g.height
                              : key == "width"         ? &g.width
                              : key == "shortest_edge" ? &g.shortest_edge
                              : key == "longest_edge"  ? &g.longest_edge
                                                       : nullptr;
        if (field == nullptr)
          throw ArgumentError(fmt::format("{}: '{}' in 'size' is not supported", path_, key));
        if (!entry.is_null()) *field = length(entry, "size." + key);
      }
      const bool exact = g.height > 0 && g.width > 0 && g.shortest_edge == 0 && g.longest_edge == 0;
      if (exact || (g.shortest_edge > 0 && g.height == 0 && g.width == 0)) return;
      throw ArgumentError(
          fmt::format("{}: 'size' must have the keys height and width, or "
                      "shortest_edge and optionally longest_edge, not {}",
                      path_, json_excerpt(*found)));
    }
    if (found->is_number() && !value("default_to_square", class_.square)) {
      g.shortest_edge = length(*found, "size");
    } else {
      read_height_width(*found, "size", g.height, g.width);
    }
  }

  void read_crop(ImageGeometry& g) {
    if (const json* found = config_.find("crop_size")) {
      read_height_width(*found, "crop_size", g.crop_height, g.crop_width);
    } else if (g.crop_height == 0) {
      fail("do_center_crop is true, but there is no 'crop_size'");
    }
  }

  /// Reads a size that is a number, [height, width] or an object.
  void read_height_width(const json& value, std::string_view key, std::int64_t& height,
                         std::int64_t& width) const {
    if (value.is_object() && value.size() == 2 && value.contains("height") &&
        value.contains("width")) {
      height = length(value["height"], fmt::format("{}.height", key));
      width = length(value["width"], fmt::format("{}.width", key));
    } else if (value.is_array() && value.size() == 2) {
      height = length(value[0], key);
      width = length(value[1], key);
    } else if (value.is_number()) {
      height = width = length(value, key);
    } else {
      fail(
          fmt::format("'{}' must be a number, [height, width] or an object with the keys height "
                      "and width, not {}",
                      key, json_excerpt(value)));
    }
  }

  /// ConvNext resizes the shorter edge to size / crop_pct and crops, or changes the aspect ratio if
  /// the size is at least 384.
  void crop_by_fraction(ImageGeometry& g, bool crops) {
    const double fraction = value("crop_pct", 224.0 / 256);
    if (!(fraction > 0 && fraction <= 1)) fail("'crop_pct' must be above 0 and at most 1");
    if (g.shortest_edge == 0 || g.longest_edge > 0 || crops) {
      throw ArgumentError(
          fmt::format("{}: ConvNextImageProcessor is supported with 'size' = {{\"shortest_edge\": "
                      "...}} and without do_center_crop",
                      path_));
    }
    const std::int64_t edge = g.shortest_edge;
    if (edge >= 384) {
      g.height = g.width = edge;
      g.shortest_edge = 0;
      return;
    }
    g.crop_height = g.crop_width = edge;
    g.shortest_edge = static_cast<std::int64_t>(static_cast<double>(edge) / fraction);
  }

  /// Pictures are always converted to the channels of the model.
  void check_colours() {
    const json* found = config_.find("do_convert_rgb");
    if (found != nullptr && !found->is_boolean())
      fail(fmt::format("'do_convert_rgb' must be true or false, not {}", json_excerpt(*found)));
    if (found != nullptr && found->get<bool>() && size_.channels != 3) {
      throw ArgumentError(
          fmt::format("{}: do_convert_rgb is true, but the model has {} channel (num_channels in "
                      "config.json)",
                      path_, size_.channels));
    }
  }

  const std::string& path_;
  const ImageSize size_;
  hf::ConfigReader config_;
  const ProcessorClass& class_;
};

}  // namespace

ImageInfo read_preprocessor(std::string_view text, const std::string& path,
                            const std::string& model_type, const ImageSize& size) {
  // The mean and the deviation have a value for each channel, and config.json can contain any
  // number.
  check::at_least("num_channels", size.channels, 1);
  check::at_most({{"num_channels", size.channels, size_limits::kPixels}});
  return PreprocessorReader(text, path, model_type, size).read();
}

ImageInfo folder_preprocessing(const hf::Folder& folder, const ImageSize& size) {
  const std::string settings = folder.text(kPreprocessorFile);
  if (settings.empty()) {
    throw FormatError(fmt::format(
        "{} holds no preprocessor_config.json, which specifies how the pixels of a {} are "
        "normalised",
        folder.path, hf::architecture_of(folder.config)));
  }
  return read_preprocessor(settings,
                           (std::filesystem::path(folder.path) / kPreprocessorFile).string(),
                           hf::ConfigReader(folder.config).model_type(), size);
}

std::string preprocessor_json(const ImageInfo& images, const ImageSize& size) {
  const ImageGeometry g = images.geometry.value_or(default_geometry(size));
  // ViTImageProcessor does not crop, and DeiTImageProcessor does not keep the aspect ratio, in all
  // releases of transformers.
  const char* processor = g.flip_channels       ? "MobileViTImageProcessor"
                          : g.shortest_edge > 0 ? "BitImageProcessor"
                          : g.crop_height > 0   ? "DeiTImageProcessor"
                                                : "ViTImageProcessor";
  json text = {{"image_processor_type", processor},
               {"do_resize", g.height > 0 || g.shortest_edge > 0},
               {"resample", static_cast<int>(g.filter)},
               {"do_center_crop", g.crop_height > 0},
               {"do_rescale", true},
               {"rescale_factor", 1.0 / 255},
               {"do_normalize", true},
               {"image_mean", images.normalisation.mean},
               {"image_std", images.normalisation.deviation},
               {"do_convert_rgb", size.channels == 3}};
  if (g.height > 0) text["size"] = {{"height", g.height}, {"width", g.width}};
  if (g.shortest_edge > 0) text["size"] = {{"shortest_edge", g.shortest_edge}};
  if (g.longest_edge > 0) text["size"]["longest_edge"] = g.longest_edge;
  if (g.crop_height > 0) text["crop_size"] = {{"height", g.crop_height}, {"width", g.crop_width}};
  if (g.flip_channels) text["do_flip_channel_order"] = true;
  return text.dump(2) + "\n";
}

}  // namespace weft
