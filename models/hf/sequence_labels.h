// The loss of classifiers of whole sequences, as the library's classes have it. Internal to hf.
#pragma once

#include <string_view>

#include "weft/models/hf/encoder_task.h"

namespace weft::hf {

/// The loss of logits [batch, classes] against the input "labels", [batch] or [batch, n], of the
/// kind that label_problem() says; undefined where the input is not given. `batch` is the axis'
/// symbol, or "" for the size it has.
Value sequence_label_loss(Request& request, Value logits, std::int64_t classes,
                          std::string_view batch = "batch");

}  // namespace weft::hf
