// Loads all or some of the weights in a file into a model, renamed if necessary.
#pragma once

#include <string>
#include <string_view>

#include "weft/graph/engine/variable_store.h"
#include "weft/graph/run/session.h"
#include "weft/serialization/match_tensors.h"
#include "weft/serialization/tensor_file.h"

namespace WEFT_API weft {

/// Sets the parameters and buffers of `graph` to the tensors of a file: .weft, safetensors, sharded
/// safetensors, or a folder (tensor_file.h).
///
///   load_parameters(session, "bert.safetensors",
///                   {.rename = {{"bert.", "encoder."}},       // in the file, in the graph
///                    .allow_missing = {"head.*"},             // starts from its initialiser
///                    .allow_unexpected = {"cls.*"}});
///
/// Matching is strict: all missing, unexpected and mismatched tensors that the options do not allow
/// are listed in one FormatError, with the nearest names, and no value is changed. Variables that
/// are not loaded keep their current values; missing and reinitialised variables without a value
/// start from their initialisers. All values change atomically, between two runs. Tensors of mapped
/// files are not copied until they are first written, so loading takes no additional memory.
///
/// Throws the errors of read_tensors() and find_matches(). Also throws FormatError with a list of
/// the tensors in the file if no variable is loaded, and StateError if the store is torn.
LoadReport load_parameters(VariableStore& store, const Graph& graph, const std::string& path,
                           const MatchOptions& options = {});
LoadReport load_parameters(Session& session, const std::string& path,
                           const MatchOptions& options = {});

/// As above, for tensors from any source. In messages, `source` denotes the tensors and `wanted`
/// the variables.
LoadReport load_parameters(VariableStore& store, const Graph& graph, const TensorMap& tensors,
                           std::string_view source, const MatchOptions& options = {},
                           std::string_view wanted = "the variables");

}  // namespace weft
