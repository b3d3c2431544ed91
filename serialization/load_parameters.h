// Weights of a file for a model: all of them, or part, under other names.
#pragma once

#include <string>
#include <string_view>

#include "weft/graph/run/session.h"
#include "weft/graph/run/variable_store.h"
#include "weft/serialization/match.h"
#include "weft/serialization/tensor_file.h"

namespace WEFT_API weft {

/// Gives the parameters and buffers of `graph` the tensors of a file: .weft, safetensors, shards of
/// them, or a folder (tensor_file.h).
///
///   load_parameters(session, "bert.safetensors",
///                   {.rename = {{"bert.", "encoder."}},       // in the file, in the graph
///                    .allow_missing = {"head.*"},             // starts anew
///                    .allow_unexpected = {"cls.*"}});
///
/// Strict: what is missing, unexpected or misshapen and not allowed is one FormatError that lists
/// all of it with the nearest names, and then nothing has changed. Variables that are not taken
/// over keep the values that they have, or start from their initialisers. All values change at one
/// moment, between two runs. Tensors of mapped files are taken as they are, and copied when they
/// are first written: loading costs no memory.
///
/// Throws as read_tensors() and find_matches(); FormatError, naming what the file holds, where
/// nothing at all is taken over; StateError where the store is torn.
LoadReport load_parameters(VariableStore& store, const Graph& graph, const std::string& path,
                           const MatchOptions& options = {});
LoadReport load_parameters(Session& session, const std::string& path,
                           const MatchOptions& options = {});

/// The same of tensors from anywhere; `source` names them in messages, and `wanted` what they do
/// not fit.
LoadReport load_parameters(VariableStore& store, const Graph& graph, const TensorMap& tensors,
                           std::string_view source, const MatchOptions& options = {},
                           std::string_view wanted = "the variables");

}  // namespace weft
