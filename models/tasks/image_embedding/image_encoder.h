// Image encoders: models that convert images to vectors.
//
//     const LoadedModel loaded = load_model_for(Use::embed, "dinov2-small");
//     const auto encoder = image_encoder(*loaded.model);
//     Session session(*encoder->graph, encoder->store);
//     Tensor vectors = embed_images(session, *encoder, {"cat.jpg", "dog.png"});
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "weft/core/function_ref.h"
#include "weft/graph/run/session.h"
#include "weft/models/families/family_config.h"
#include "weft/models/hf/folder.h"
#include "weft/models/inputs/image_info.h"
#include "weft/models/tasks/common/folder_model.h"
#include "weft/models/training/model.h"

namespace WEFT_API weft {

/// The config of an image encoder of any family, as a part of a model file.
struct VisionConfig {
  FamilyConfig family = VitConfig();

  /// Returns the attachment type of the family: "weft.config.vit".
  std::string type() const;
  /// Returns the config as JSON.
  std::string bytes() const;
  /// The inverse. Throws FormatError for the type of another family or invalid bytes.
  static VisionConfig from_bytes(std::string_view type, std::string_view bytes);
};

struct ImageEncoder;

/// Interface of the models that contain an image encoder.
class ImageModel {
 public:
  /// Returns the image encoder without heads. It shares the weights with the model; quantised
  /// weights remain quantised, and adapters remain separate.
  virtual std::unique_ptr<ImageEncoder> image_encoder() const = 0;

 protected:
  ~ImageModel() = default;
};

/// An image encoder without a head. The program "vectors" has the input "images" f32 [batch,
/// channels, height, width] with pixels in [0, 1], which it normalises, and the output "vectors"
/// f32 [batch, width]. If the class has a dense pooler, the program "pooler" computes its output.
///
/// The vector of an image is the projected vector of CLIP, the output of the model's pooling (class
/// token, mean, attention), or otherwise its class token. It is not the dense pooler of ViTModel
/// and DeiTModel, which most published weights leave untrained.
struct ImageEncoder : ModelKind<ImageEncoder>, ImageModel {
  VisionConfig config;
  ImageInfo images;  // preprocessing

  /// Returns the layout of the model file.
  static const ModelLayout& file_layout();
  void check() const override;
  /// Returns the encoder in Hugging Face layout. Throws ArgumentError if the model did not come
  /// from a folder.
  FolderModel to_folder() const;
  /// Returns the size of the images.
  ImageSize image_size() const;
  /// Returns a copy of this encoder.
  std::unique_ptr<ImageEncoder> image_encoder() const override;
};

/// Returns the image encoder of any model with one; weft embed runs it. Throws FormatError if the
/// model has no image encoder.
std::unique_ptr<ImageEncoder> image_encoder(const TrainedModel& model);

/// Returns an encoder for a model with the preprocessing `images` and the images `size`. `build`
/// computes the vectors from normalised images; it declares the parameters that the encoder shares
/// with `model`, under the same names.
std::unique_ptr<ImageEncoder> image_encoder_of(const TrainedModel& model,
                                               const FamilyConfig& config, const ImageInfo& images,
                                               const ImageSize& size,
                                               const std::function<Value(Value pixels)>& build);
struct ImageEmbedOptions {
  bool normalise = true;  // scale vectors to length 1
  /// Keep only the first values of each vector, and scale these (matryoshka embeddings).
  std::optional<std::int64_t> dimensions = {};
};

/// Returns the vectors of image files, f32 [images, width], in their order. `session` must run the
/// encoder's graph with its store. Throws the same exceptions as read_image() and
/// preprocess_image(), and ArgumentError if there are fewer dimensions than requested.
Tensor embed_images(Session& session, const ImageEncoder& encoder,
                    std::span<const std::string> paths, const ImageEmbedOptions& options = {});

/// Returns the output "vectors" of a program for rows [0, count), f32 [count, width], computed at
/// most `at_once` rows at a time. Throws DataError if there are no rows, and under the same
/// conditions as run_checked().
Tensor vectors_of_rows(Session& session, const Program& program, std::int64_t count,
                       std::int64_t at_once,
                       FunctionRef<NamedTensors(std::int64_t begin, std::int64_t end)> inputs);

/// Returns vectors [rows, width] as `options` specifies. A zero vector remains zero. Throws
/// ArgumentError under the same conditions as embed_images().
Tensor chosen_values(const Tensor& vectors, const ImageEmbedOptions& options);

}  // namespace weft
