// Image classifiers whose network comes from a file with a graph, such as an ONNX file of another
// library, and not from a config of a model family.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/tasks/image_classification/image_classifier.h"
#include "weft/models/training/pretrained.h"
#include "weft/serialization/checkpoint.h"

namespace WEFT_API weft {

/// The images that a network reads, and the width of the features that its head reads.
struct NetworkConfig {
  std::int64_t channels = 3, image_height = 224, image_width = 224, features = 1;

  /// Throws ArgumentError if a field is invalid.
  void check() const;
  static const FieldList<NetworkConfig>& fields();
  std::string to_json() const { return fields().to_json(*this); }
  static NetworkConfig from_json(std::string_view json) { return fields().from_json(json); }
  friend bool operator==(const NetworkConfig&, const NetworkConfig&) = default;
};
template <>
inline constexpr const char* kConfigType<NetworkConfig> = kNetworkConfig;

/// A network that computes features of images.
struct ImageNetwork {
  Checkpoint file;  // owns the graph of the values
  NetworkConfig config;
  Value pixels;                     // input f32 [batch, channels, height, width]
  Value features;                   // f32 [batch, config.features]
  Value logits;                     // f32 [batch, classes]; undefined if `features` was given
  std::vector<std::string> labels;  // of the logits, if the file has them (metadata "labels")
};

/// Reads a network from an ONNX file, or from a .weft file of a NetworkClassifier. The file must
/// have one input of images, with a symbolic batch axis. `features` is the name of the value that
/// the head of a classifier reads, with one row per image; by default, it is the operand of the
/// last matrix product of the first output. Throws FormatError, which names the remedy, if the file
/// has no such input or product; and the errors of read_onnx() and load_checkpoint().
ImageNetwork read_image_network(const std::string& path, const std::string& features = {});

/// An image classifier with a network of a file. Its parameters have the names of the file; a new
/// head has the parameters classifier.{weight,bias}. In addition to the programs of
/// AnyImageClassifier, the program "network" computes "features" and "logits" from normalised
/// images, "pixels".
///
/// Training is what fine-tuning of an inference graph means: batch normalisation keeps the
/// statistics of the file, and there is no dropout.
struct NetworkClassifier : ModelKind<NetworkClassifier, AnyImageClassifier> {
  NetworkConfig config;

  /// Returns the layout of the model file.
  static const ModelLayout& file_layout();
  void check() const override;
  /// Throws ArgumentError: transformers has no class for such networks.
  FolderModel to_folder() const;
  /// Throws FormatError: these models do not embed images.
  std::unique_ptr<ImageEncoder> image_encoder() const override;
  ImageSize image_size() const override {
    return {config.channels, config.image_height, config.image_width};
  }
};

/// Builds a classifier with the head of the network if it has the same classes, and otherwise with
/// a new head. It is not trainable yet, and its variables have no values yet.
NetworkClassifier build_network_classifier(const ImageNetwork& network,
                                           const std::vector<std::string>& classes,
                                           const ImageNormalisation& normalisation,
                                           const ImageAugmentation& augmentation,
                                           const TrainSettings& settings,
                                           SourceLocation loc = SourceLocation::current());

/// Returns the "model" line in the description of a run.
std::string describe_images_model(const NetworkConfig& config, const Graph& graph);

}  // namespace weft
