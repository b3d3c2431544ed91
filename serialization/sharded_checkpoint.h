// Checkpoints that the ranks of a training write together, each a part of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/core/world/world.h"
#include "weft/serialization/checkpoint.h"

namespace WEFT_API weft {

/// Writes a checkpoint of a Session's World: every rank writes a file of its own with the part of
/// the optimizer's state that it has, and a part of the rest; nothing is gathered. Rank 0 then
/// writes `path`, which has graph, programs and attachments (of its `options`), and names the
/// others. Collective, with the same programs; with one rank as save_checkpoint().
///
///   net.weft  net-7-00001-of-00003.weft  net-7-00002-of-00003.weft  net-7-00003-of-00003.weft
///
/// All that reads checkpoints reads `path`, on any number of ranks, and saves it anew in one file
/// with the bytes that one rank would have written. Variables of several pieces are copies, all
/// others views, as of one file. The files must stay together; `path` may get another name.
///
/// The number (7 above) is new with every save, so that none writes over the files of another.
/// `path` is replaced when all shards are complete and synced; only then those are removed that no
/// checkpoint in the folder names. So whatever fails, and whenever, `path` is the old checkpoint or
/// the new one.
///
/// Throws as save_checkpoint(); ArgumentError where `path` is called as a shard is; WorldError
/// where another rank fails; IoError where rank 0 does not see what others wrote
/// (ranks_share_folder() tells before).
void save_checkpoint_in_shards(const std::string& path, Session& session,
                               const std::vector<Program>& programs,
                               const SaveOptions& options = {});

/// Whether all ranks see the folder of `path`, and may write there: rank 0 writes a small file, and
/// the others look for it. Where they do not, rank 0 is to save (Session::gather_state(
/// Gather::first)). Collective.
bool ranks_share_folder(const std::string& path, const World& world);

/// Bytes of a checkpoint's file and its shards. Throws as load_checkpoint.
std::uint64_t checkpoint_bytes(const std::string& path);

}  // namespace weft
