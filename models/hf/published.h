// Configs of published models by name, without weights: for planning, benchmarks and parameter
// counts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/weights/parameter_count.h"
#include "weft/models/hf/model.h"

namespace WEFT_API weft {
namespace hf {

/// The kind of input of a model.
enum class Modality {
  text,          // input_ids
  text_to_text,  // input_ids and decoder_input_ids
  image,         // pixel_values
};

/// A model as its authors published it.
struct PublishedModel {
  std::string name;  // "bert-base"
  std::string architecture;
  /// The class that is trained. It has a head, which the `architecture` of an encoder lacks.
  std::string trained;
  std::string config;           // the text of config.json
  std::int64_t parameters = 0;  // published number of parameters, shared ones counted once
  Modality modality = Modality::text;
  std::int64_t image_size = 0;  // pixels on a side
  std::int64_t patches = 0;     // number of patches of an image
  /// Layers and width of one stack (a second stack has the same), for textbook formulas.
  std::int64_t layers = 0, width = 0;
};

/// Returns all published models, ordered by family and size.
const std::vector<PublishedModel>& published_models();
/// Returns the model with this name. Throws an ArgumentError that lists the known names for an
/// unknown one.
const PublishedModel& find_published_model(std::string_view name);

/// Returns the inputs of a batch: ids are i32 [batch, seq] (also those of the decoder), images are
/// f32. `labels` adds i32 labels, so that the trained class has a loss: [batch, seq], or [batch]
/// for images.
InputTypes published_inputs(const PublishedModel& model, std::int64_t batch, std::int64_t seq,
                            bool labels = false);

using weft::count_parameters;

}  // namespace hf
}  // namespace weft
