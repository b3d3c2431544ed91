// What a file says about itself, for tools: whether or not this program knows its ops.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/ops/op.h"
#include "weft/serialization/checkpoint.h"

namespace WEFT_API weft {

/// A program as a file declares it. Values read as in SavedFile::nodes.
struct SavedProgram {
  std::string name = {};
  std::vector<std::string> outputs = {};  // "loss = %12"
  std::vector<std::string> updates = {};  // "@w = %30"
};

/// The structure of a file, read without asking any op.
struct SavedFile {
  std::string producer = {};
  std::vector<std::string> inputs = {};  // "x: f32[batch, 64]"
  std::vector<SavedVariable> variables = {};
  /// Of the main graph, as text: "%3 = swish(%x, @w) {beta = 1.5}  // net.block, net.cc:12". Types
  /// are not in files: shape rules give them.
  std::vector<std::string> nodes = {};
  std::vector<SavedProgram> programs = {};
  /// Ops that `ops` lacks: "swish version 1".
  std::vector<std::string> unknown_ops = {};
};

/// Throws FormatError for what is damaged, values of variables too, and IoError, as load_checkpoint
/// with LoadOptions::verify.
SavedFile read_saved_file(const std::string& path,
                          const std::shared_ptr<const OpSet>& ops = builtin_ops());

}  // namespace weft
