// A plugin of clang-tidy: its checks look at what this repository declares, and not at every template of the system's
// headers, where nothing that they find is ever said. That takes three quarters of the time away. Later versions of
// clang-tidy do so by themselves.
#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendAction.h>
#include <clang/Frontend/FrontendPluginRegistry.h>

#include <memory>
#include <string>
#include <vector>

namespace {

class NarrowScope final : public clang::ASTConsumer {
  void HandleTranslationUnit(clang::ASTContext& context) override {
    const clang::SourceManager& sources = context.getSourceManager();
    std::vector<clang::Decl*> own;
    for (clang::Decl* declaration : context.getTranslationUnitDecl()->decls()) {
      if (!sources.isInSystemHeader(declaration->getLocation())) {
        own.push_back(declaration);
      }
    }
    context.setTraversalScope(own);
  }
};

class NarrowScopeFirst final : public clang::PluginASTAction {
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& /*compiler*/,
                                                        llvm::StringRef /*file*/) override {
    return std::make_unique<NarrowScope>();
  }
  bool ParseArgs(const clang::CompilerInstance& /*compiler*/, const std::vector<std::string>& /*arguments*/) override {
    return true;
  }
  ActionType getActionType() override { return AddBeforeMainAction; }
};

const clang::FrontendPluginRegistry::Add<NarrowScopeFirst> registration("own-declarations",
                                                                        "looks at what this repository declares");

}  // namespace
