/* clang's front end, linked into mwcc where its static libraries are: `mwcc -cc1 …` does what `clang -cc1 …` does, of
 * which only what mwcc asks for is here.
 *
 * Most of the time that the program `clang` needs for a small kernel is the dynamic linker's, which adapts half a million
 * addresses in clang's and LLVM's shared libraries at every start. A program that holds what it needs of them starts in a
 * quarter of the time. It is C++ because clang has no other interface for this. */
#include "clang_embedded.h"

#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/DiagnosticOptions.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Frontend/TextDiagnosticBuffer.h>

#include <llvm/Support/raw_ostream.h>

#include <memory>

using namespace clang;

static std::unique_ptr<FrontendAction> make_action(frontend::ActionKind kind) {
  switch (kind) {
  case frontend::EmitBC: return std::make_unique<EmitBCAction>();
  case frontend::GeneratePCH: return std::make_unique<GeneratePCHAction>();
  case frontend::ParseSyntaxOnly: return std::make_unique<SyntaxOnlyAction>();
  case frontend::PrintPreprocessedInput: return std::make_unique<PrintPreprocessedAction>();
  default: return nullptr;
  }
}

int mwcc_clang_inside(int count, const char *const *arguments) {
  /* What is wrong with the arguments is told once it is known how to tell it. */
  auto *early = new TextDiagnosticBuffer;
  DiagnosticsEngine diagnostics(new DiagnosticIDs, new DiagnosticOptions, early);
  CompilerInstance compiler;
  bool good = CompilerInvocation::CreateFromArgs(compiler.getInvocation(),
                                                 llvm::ArrayRef<const char *>(arguments + 2, arguments + count),
                                                 diagnostics, arguments[0]);
  compiler.createDiagnostics();
  if (!compiler.hasDiagnostics()) return 1;
  early->FlushDiagnostics(compiler.getDiagnostics());
  if (!good) return 1;
  auto action = make_action(compiler.getFrontendOpts().ProgramAction);
  if (!action) {
    llvm::errs() << "mwcc -cc1: only -emit-llvm-bc, -emit-pch, -fsyntax-only and -E are here\n";
    return 1;
  }
  good = compiler.ExecuteAction(*action);
  llvm::outs().flush();
  return good ? 0 : 1;
}
