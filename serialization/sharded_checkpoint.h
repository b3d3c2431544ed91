// Sharded checkpoints: every rank of a training run writes a part of the checkpoint.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/core/world/world.h"
#include "weft/serialization/checkpoint.h"

namespace WEFT_API weft {

/// Writes a checkpoint from all ranks of a Session's World. Every rank writes one shard file with
/// its partition of the optimizer state and some of the other variables; nothing is gathered. Rank
/// 0 then writes `path`, which contains the graph, the programs and the attachments (from its
/// `options`) and refers to the shards. Collective: all ranks must pass the same programs. With one
/// rank, equivalent to save_checkpoint().
///
///   net.weft  net-7-00001-of-00003.weft  net-7-00002-of-00003.weft  net-7-00003-of-00003.weft
///
/// All functions that read checkpoints accept `path`, on any number of ranks. Saving the loaded
/// checkpoint into one file writes the same bytes as a single-rank run. Variables that consist of
/// several pieces are copied when they are loaded; all others are views, as for a single file. The
/// files must stay in the same folder; `path` may be renamed.
///
/// Every save uses a new number (7 above), so that no save overwrites the files of another. `path`
/// is replaced after all shards are complete and synced. Shards to which no checkpoint in the
/// folder refers are removed only afterwards, so that after any failure `path` is either the old
/// checkpoint or the new one.
///
/// Throws the same errors as save_checkpoint(). Also throws ArgumentError if the name of `path` has
/// the form of a shard name, WorldError if another rank fails, and IoError if rank 0 cannot read
/// the shards of other ranks (check this beforehand with ranks_share_folder()).
void save_checkpoint_in_shards(const std::string& path, Session& session,
                               const std::vector<Program>& programs,
                               const SaveOptions& options = {});

/// Returns true if all ranks share the folder of `path` and may write to it: rank 0 writes a small
/// file, and the other ranks check for it. If the folder is not shared, save the checkpoint on rank
/// 0 only (Session::gather_state(Gather::first)). Collective.
bool ranks_share_folder(const std::string& path, const World& world);

/// Returns the total size in bytes of a checkpoint's file and its shards. Throws the same errors as
/// load_checkpoint().
std::uint64_t checkpoint_bytes(const std::string& path);

}  // namespace weft
