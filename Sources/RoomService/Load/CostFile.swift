import Foundation
import Logging
import MixModel

/// Keeps learnt costs across restarts, in `cost-model.json` in the data directory.
///
/// The costs are in a file rather than in the store, because they are specific to this machine, and other machines may
/// share the store. Losing the file costs some minutes of learning.
package struct CostFile: Sendable {
    package let path: String

    package init(data: String) { path = data + "/cost-model.json" }

    /// Returns the learnt costs, or the priors when there is no usable file.
    package func read(logger: Logger) -> CostModel {
        guard let bytes = FileManager.default.contents(atPath: path) else { return CostModel() }
        guard let model = try? JSONDecoder().decode(CostModel.self, from: bytes), model.isUsable else {
            logger.notice("\(path) is damaged or from another release: costs are learnt from scratch")
            return CostModel()
        }
        return model
    }

    /// - Throws: An error that describes why the file cannot be written.
    package func write(_ model: CostModel) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        try encoder.encode(model).write(to: URL(fileURLWithPath: path), options: .atomic)
    }
}
