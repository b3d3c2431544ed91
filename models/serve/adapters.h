// The program and the weights that serve a decoder, with adapters that requests choose by name.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/graph/engine/variable_store.h"
#include "weft/models/tasks/next_token/language_model.h"

namespace WEFT_API weft {

/// The program of Gpt::slots_program for the weights of a decoder.
struct SlotsModel {
  std::shared_ptr<Graph> graph;
  Program program;
  std::shared_ptr<VariableStore> store;  // shares the tensors of the decoder
};

/// Returns the program for DecodeSlots and the weights that it reads, which may be quantised.
/// Caches have the format that they have in `model`. `adapters` are pairs of a name and the path of
/// a PEFT folder or of an adapter file (save_lora()); adapter k of a slot is entry k - 1
/// (stack_lora()). Their values take 4 * adapters * rank * (inputs + outputs) bytes for each
/// adapted matrix, where `rank` is the largest one.
///
/// Throws ArgumentError if a name is empty or occurs twice, if `model` already has adapters, or
/// if an adapter cannot be read, does not fit the model or replaces whole parameters; the message
/// contains the name of the adapter.
SlotsModel slots_model(const LanguageModel& model,
                       const std::vector<std::pair<std::string, std::string>>& adapters = {});

}  // namespace weft
