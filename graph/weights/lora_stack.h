// Several low-rank adapters over one model, of which every text of a batch chooses one (Chen et al.
// 2023, "Punica"; Sheng et al. 2023, "S-LoRA").
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "weft/graph/weights/lora.h"

namespace WEFT_API weft {

/// The input of programs with several adapters: i64 [rows], the number of the adapter of each row
/// of the input "tokens" (1 is the first one), or 0 for the model without adapters.
inline constexpr const char* kAdaptersInput = "slot_adapters";

/// Adapters with their names, for messages.
using NamedAdapters = std::vector<std::pair<std::string, LoraAdapters>>;

/// Copies `program`, which is made by Gpt::slots_program, into a new graph in which each row of the
/// batch chooses its adapter: x W becomes x W + scale * (x A_k^T) B_k^T for the rows with
/// adapter k. All adapters of a matrix are stored in two stacks, "<matrix>.lora_a" [adapters, rank,
/// inputs] and "<matrix>.lora_b" [adapters, rank, outputs], in which smaller ranks are padded. Rows
/// are sorted by their adapters and multiplied by grouped_matmul, so that a step reads each adapter
/// in use once, and the others not at all. The new store shares the tensors of `store`; the base
/// weights may be quantised.
///
/// Rows without an adapter have the same bits as in `program`. In batch-invariant programs, the
/// bits of a row do not depend on the adapters of other rows.
///
/// Throws ArgumentError if the program has no input "tokens", or if an adapter does not fit the
/// model (the message names the adapter and the matrix).
AdaptedModel stack_lora(const Program& program, const VariableStore& store,
                        const NamedAdapters& adapters);

}  // namespace weft
