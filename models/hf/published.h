// Configs of published models by name, without weights. They are used for planning, benchmarks and
// parameter counts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/weights/parameter_count.h"
#include "weft/models/hf/model.h"

namespace WEFT_API weft {
namespace hf {

/// The input modality of a model.
enum class Modality {
  text,          // input_ids
  text_to_text,  // input_ids and decoder_input_ids
  image,         // pixel_values
};

/// A published model in its original configuration.
struct PublishedModel {
  std::string name;  // "bert-base"
  std::string architecture;
  /// The class that is trained. It has a head, whereas the `architecture` of an encoder does not.
  std::string trained;
  std::string config;           // the contents of config.json
  std::int64_t parameters = 0;  // published parameter count; shared parameters count once
  Modality modality = Modality::text;
  std::int64_t image_size = 0;  // width and height in pixels
  std::int64_t patches = 0;     // number of patches per image
  /// Number of layers and width of one stack, for textbook formulas. If there is a second stack, it
  /// has the same size.
  std::int64_t layers = 0, width = 0;
  std::int64_t window = 0;  // tokens to which a token attends; 0 = all
};

/// Returns all published models, ordered by family and size.
const std::vector<PublishedModel>& published_models();
/// Returns the model with this name. If the name is unknown, throws an ArgumentError that lists the
/// known names.
const PublishedModel& find_published_model(std::string_view name);

/// Returns the inputs for a batch. Ids, including decoder ids, are i32 [batch, seq]; images are
/// f32. If `labels` is set, i32 labels are added so that the trained class has a loss: [batch, seq]
/// for texts and [batch] for images.
InputTypes published_inputs(const PublishedModel& model, std::int64_t batch, std::int64_t seq,
                            bool labels = false);

using weft::count_parameters;

}  // namespace hf
}  // namespace weft
