// The attacks. Each runs until its time budget is used up and reports its findings.
#pragma once

#include "report.h"
#include "workspace.h"

namespace weft::attack {

/// Passes damaged files of every kind to every command that reads them, with and without corrected
/// checksums. Requirement: the command succeeds or prints an error in one line.
void attack_files(const Workspace& workspace, const Budget& budget, Report& report);

/// Sends SIGKILL, SIGTERM, SIGINT or SIGHUP at random moments to training runs that save at every
/// step. Requirement: the saved file is intact afterwards, and the next save removes leftover
/// temporary files.
void attack_with_kills(const Workspace& workspace, const Budget& budget, Report& report);

/// Limits memory, file descriptors or file sizes. Requirement: success or an error in one line.
void attack_with_limits(const Workspace& workspace, const Budget& budget, Report& report);

/// Injects failures into calls that write, sync, rename, open, close, delete or read files,
/// allocate memory or start threads. Requirement: the old file remains or the new file is complete.
/// Needs the fault injection library.
void attack_disk(const Workspace& workspace, const Budget& budget, Report& report);

/// Passes endless inputs, and small inputs that decompress to large ones. Inputs from pipes, which
/// commands may wait for, are omitted in short runs.
void attack_with_floods(const Workspace& workspace, const Budget& budget, Report& report);

}  // namespace weft::attack
