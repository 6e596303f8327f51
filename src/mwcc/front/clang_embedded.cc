/* clang's front end, linked into mwcc if the build had clang's static libraries: `mwcc -cc1 …` does what `clang -cc1 …`
 * does, limited to the actions that mwcc uses.
 *
 * For a small kernel, the program `clang` spends most of its time in the dynamic linker, on some 500 000 relocations in
 * clang's and LLVM's shared libraries. A statically linked program starts 4 times as fast. This file is C++ because
 * clang has no C interface for it. */
#include "clang_embedded.h"

#include <clang/AST/DeclCXX.h>
#include <clang/AST/Stmt.h>
#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/DiagnosticOptions.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Frontend/MultiplexConsumer.h>
#include <clang/Frontend/TextDiagnosticBuffer.h>
#include <clang/Sema/Sema.h>
#include <clang/Sema/SemaConsumer.h>

#include <llvm/Support/raw_ostream.h>

#include <memory>

using namespace clang;

/* For CUDA, clang defers diagnostics until it knows that a function is emitted. A precompiled header lists its
 * functions for that purpose, and every compilation with it then reads the bodies of all of them: half of clang's time
 * for a small kernel. The device headers' own functions have no such diagnostics. Those that a source instantiates are
 * new and are checked. The list is private, but an explicit instantiation may name it. */
template <llvm::SmallSetVector<Decl *, 4> Sema::*list> struct Checked {
  friend void forget_checked(Sema &s) { (s.*list).clear(); }
};
template struct Checked<&Sema::DeclsToCheckForDeferredDiags>;
void forget_checked(Sema &s);

namespace {
class ForgetChecked : public SemaConsumer {
  Sema *sema = nullptr;

public:
  void InitializeSema(Sema &s) override { sema = &s; }
  void ForgetSema() override { sema = nullptr; }
  void HandleTranslationUnit(ASTContext &) override {
    if (sema) forget_checked(*sema);
  }
};

/* What both consumers do, the first one first. */
static std::unique_ptr<ASTConsumer> joined(std::unique_ptr<ASTConsumer> first, std::unique_ptr<ASTConsumer> second) {
  if (!second) return nullptr;
  std::vector<std::unique_ptr<ASTConsumer>> both;
  both.push_back(std::move(first));
  both.push_back(std::move(second));
  return std::make_unique<MultiplexConsumer>(std::move(both));
}

class PrecompileAction : public GeneratePCHAction {
protected:
  std::unique_ptr<ASTConsumer> CreateASTConsumer(CompilerInstance &compiler, StringRef file) override {
    return joined(std::make_unique<ForgetChecked>(), GeneratePCHAction::CreateASTConsumer(compiler, file));
  }
};
} // namespace

/* CCCL's cuda::barrier has a destructor, which marks its memory as no barrier any more. As a shared variable, nvcc accepts
 * it and never calls the destructor; clang refuses such variables unless the destructor is empty. So it is. */
namespace {
class EmptyDestructors : public ASTConsumer {
public:
  void HandleInlineFunctionDefinition(FunctionDecl *function) override {
    auto *destructor = dyn_cast<CXXDestructorDecl>(function);
    if (!destructor) return;
    const CXXRecordDecl *parent = destructor->getParent();
    const auto *space = dyn_cast<NamespaceDecl>(parent->getEnclosingNamespaceContext());
    while (space && space->isInline()) space = dyn_cast<NamespaceDecl>(space->getParent());
    if (space && space->getName() == "cuda" && parent->getName() == "barrier")
      destructor->setBody(CompoundStmt::CreateEmpty(destructor->getASTContext(), 0, false));
  }
};

template <typename Action> class CompileAction : public Action {
protected:
  std::unique_ptr<ASTConsumer> CreateASTConsumer(CompilerInstance &compiler, StringRef file) override {
    return joined(std::make_unique<EmptyDestructors>(), Action::CreateASTConsumer(compiler, file));
  }
};
} // namespace

static std::unique_ptr<FrontendAction> make_action(frontend::ActionKind kind) {
  switch (kind) {
  case frontend::EmitBC: return std::make_unique<CompileAction<EmitBCAction>>();
  case frontend::GeneratePCH: return std::make_unique<PrecompileAction>();
  case frontend::ParseSyntaxOnly: return std::make_unique<CompileAction<SyntaxOnlyAction>>();
  case frontend::PrintPreprocessedInput: return std::make_unique<PrintPreprocessedAction>();
  default: return nullptr;
  }
}

int mwcc_clang_inside(int count, const char *const *arguments) {
  /* Diagnostics about the arguments are buffered: the arguments determine how diagnostics are printed. */
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
    llvm::errs() << "mwcc -cc1: the action is not supported: use -emit-llvm-bc, -emit-pch, -fsyntax-only or -E\n";
    return 1;
  }
  good = compiler.ExecuteAction(*action);
  llvm::outs().flush();
  return good ? 0 : 1;
}
