// The attacks. Each runs until its budget is used up and reports what it found.
#pragma once

#include "report.h"
#include "workspace.h"

namespace weft::attack {

/// Damaged files of every kind through every command that reads them, with and without mended
/// checksums: the command works, or says in one line what is wrong.
void attack_files(const Workspace& workspace, const Budget& budget, Report& report);

/// SIGKILL, SIGTERM, SIGINT and SIGHUP at random moments of trainings that save at every step: the
/// file under the name is whole afterwards, and the next saver clears away what was left.
void attack_with_kills(const Workspace& workspace, const Budget& budget, Report& report);

/// Little memory, few descriptors, small files: an error in one line, or success.
void attack_with_limits(const Workspace& workspace, const Budget& budget, Report& report);

/// Every call that writes, syncs or renames fails once: the old file stays, or the new one is
/// whole. Needs the library of faults.
void attack_disk(const Workspace& workspace, const Budget& budget, Report& report);

/// Inputs without an end, and small ones that unpack to large ones. What waits for a silent pipe is
/// left out of short runs.
void attack_with_floods(const Workspace& workspace, const Budget& budget, Report& report);

}  // namespace weft::attack
