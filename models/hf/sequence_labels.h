// Losses of sequence and span classifiers, equal to those of the Hugging Face classes. Internal to
// hf.
#pragma once

#include <string_view>

#include "weft/models/families/encoder_heads.h"
#include "weft/models/hf/request.h"

namespace weft::hf {

/// Returns how a classifier interprets the input "labels". This depends on the problem_type in the
/// config or, without a problem_type, on the number of labels and the dtype of the input. Throws
/// ArgumentError for an unknown problem_type.
Problem label_problem(const Request& request, std::int64_t labels);

/// Returns the loss for logits [batch, classes] and the input "labels", which is [batch] or [batch,
/// n]. label_problem() determines the loss function. Returns an undefined value if there is no such
/// input. `batch` is the symbol of the batch axis, or "" to keep its concrete size.
Value sequence_label_loss(Request& request, Value logits, std::int64_t classes,
                          std::string_view batch = "batch");

/// Adds the outputs "start_logits" and "end_logits" of span scores [batch, seq, 2], and "loss" if
/// the inputs include "start_positions" and "end_positions". Throws ArgumentError if only one of
/// these is given.
void put_span(Request& request, Model& model, Value scores);

}  // namespace weft::hf
