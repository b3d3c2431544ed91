#include "weft/models/tasks/image_embedding/image_encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include "weft/core/error.h"
#include "weft/models/data/images/image_codec.h"
#include "weft/models/tasks/common/run_checked.h"
#include "weft/models/training/adapters.h"
#include "weft/models/training/run_distributed.h"

namespace weft {
namespace {

constexpr const char* kVectors = "vectors";
/// Number of images per run. Images of published models have 150,000 values and more.
constexpr std::int64_t kImagesPerRun = 32;

template <class... Configs>
VisionConfig config_of_type(std::string_view type, std::string_view bytes,
                            const std::variant<Configs...>&) {
  VisionConfig config;
  const bool known =
      ((type == kConfigType<Configs> ? (config.family = Configs::from_json(bytes), true) : false) ||
       ...);
  if (!known) throw FormatError(fmt::format("the configuration type '{}' is unknown", type));
  return config;
}

}  // namespace

std::string VisionConfig::type() const {
  return std::visit([]<class Config>(const Config&) { return std::string(kConfigType<Config>); },
                    family);
}

std::string VisionConfig::bytes() const {
  return std::visit([](const auto& config) { return config.to_json(); }, family);
}

VisionConfig VisionConfig::from_bytes(std::string_view type, std::string_view bytes) {
  return config_of_type(type, bytes, FamilyConfig());
}

const ModelLayout& ImageEncoder::file_layout() {
  static const ModelLayout layout = ModelLayout{.kind = "image encoder",
                                                .uses = {Use::embed},
                                                .programs = {kVectors, "pooler"},
                                                .added_programs = {"pooler"}}
                                        .part(kConfigPart, "", &ImageEncoder::config)
                                        .part("model.images", "weft.images", &ImageEncoder::images);
  return layout;
}

void ImageEncoder::check() const { images.normalisation.check(image_size().channels); }

ImageSize ImageEncoder::image_size() const {
  const Shape& shape = program(kVectors).inputs().front().shape();
  return {shape[1].constant(), shape[2].constant(), shape[3].constant()};
}

std::unique_ptr<ImageEncoder> ImageEncoder::image_encoder() const {
  return std::make_unique<ImageEncoder>(*this);
}

FolderModel ImageEncoder::to_folder() const {
  require_origin(*this);
  FolderModel folder;
  folder.library.family = config.family;
  folder.library.endings = {"Model", "VisionModelWithProjection", "VisionModel",
                            "ForImageClassification", "ForMaskedImageModeling"};
  folder.images = images;
  return folder;
}

std::unique_ptr<ImageEncoder> image_encoder(const TrainedModel& model) {
  if (const auto* found = dynamic_cast<const ImageModel*>(&model)) return found->image_encoder();
  throw FormatError(
      fmt::format("the model is a {}, which has no image encoder", model.layout().kind));
}

std::unique_ptr<ImageEncoder> image_encoder_of(const TrainedModel& model,
                                               const FamilyConfig& config, const ImageInfo& images,
                                               const ImageSize& size,
                                               const std::function<Value(Value pixels)>& build) {
  auto encoder = std::make_unique<ImageEncoder>();
  encoder->task = "image-embedding";
  encoder->settings = model.settings;
  encoder->config.family = config;
  encoder->images = images;
  encoder->images.classes.clear();
  encoder->origin = model.origin;
  const Value input = encoder->graph->input("images", DType::f32,
                                            {"batch", size.channels, size.height, size.width});
  encoder->add_program(kVectors)
      .precision(model.settings.precision)
      .output("vectors", build(normalised(input, images.normalisation)));
  share_weights(model, *encoder);
  return encoder;
}

Tensor vectors_of_rows(Session& session, const Program& program, std::int64_t count,
                       std::int64_t at_once,
                       FunctionRef<NamedTensors(std::int64_t begin, std::int64_t end)> inputs) {
  Tensor vectors;
  float* out = nullptr;
  run_distributed(
      session, program, (count + at_once - 1) / at_once,
      [&](std::int64_t i) { return inputs(i * at_once, std::min((i + 1) * at_once, count)); },
      [&](std::int64_t, const Results& results) {
        check_results(results);
        const Tensor& found = results["vectors"];
        if (out == nullptr) {
          vectors = Tensor::empty(DType::f32, {count, found.size(1)});
          out = vectors.mutable_data<float>();
        }
        out = std::copy_n(found.data<float>(), found.numel(), out);
      });
  if (out == nullptr) throw DataError("there are no texts or images to embed");
  return vectors;
}

Tensor embed_images(Session& session, const ImageEncoder& encoder,
                    std::span<const std::string> paths, const ImageEmbedOptions& options) {
  const ImageSize size = encoder.image_size();
  const auto inputs = [&](std::int64_t begin, std::int64_t end) -> NamedTensors {
    Tensor batch = Tensor::empty(DType::f32, {end - begin, size.channels, size.height, size.width});
    auto* out = batch.mutable_data<float>();
    for (std::int64_t i = begin; i < end; ++i) {
      const std::string& path = paths[static_cast<std::size_t>(i)];
      const Tensor image =
          preprocess_image(read_image(path, size.channels), size, encoder.images.geometry, path);
      out = std::copy_n(image.data<float>(), image.numel(), out);
    }
    return {{"images", batch}};
  };
  return chosen_values(
      vectors_of_rows(session, encoder.program(kVectors), std::ssize(paths), kImagesPerRun, inputs),
      options);
}

Tensor chosen_values(const Tensor& vectors, const ImageEmbedOptions& options) {
  const std::int64_t width = vectors.size(1), kept = options.dimensions.value_or(width);
  if (kept < 1 || kept > width) {
    throw ArgumentError(
        fmt::format("{} dimensions were requested, but the vectors have {}", kept, width));
  }
  Tensor result = Tensor::empty(DType::f32, {vectors.size(0), kept});
  auto* out = result.mutable_data<float>();
  for (std::int64_t row = 0; row < vectors.size(0); ++row) {
    const float* in = vectors.data<float>() + row * width;
    double squares = 0;
    for (std::int64_t i = 0; i < kept; ++i) squares += static_cast<double>(in[i]) * in[i];
    const double scale = !options.normalise ? 1 : squares > 0 ? 1 / std::sqrt(squares) : 0;
    for (std::int64_t i = 0; i < kept; ++i) *out++ = static_cast<float>(in[i] * scale);
  }
  return result;
}

}  // namespace weft
