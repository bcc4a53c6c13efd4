import Foundation
import Logging
import MixModel

/// Keeps what was learnt of costs across restarts: `cost-model.json` in the data directory.
///
/// A file and not the store: it is about this machine, whatever other machines share the store, and losing it costs some
/// minutes of learning.
struct CostFile: Sendable {
    let path: String

    init(data: String) { path = data + "/cost-model.json" }

    /// What was learnt; the priors when there is nothing, or nothing usable.
    func read(logger: Logger) -> CostModel {
        guard let bytes = FileManager.default.contents(atPath: path) else { return CostModel() }
        guard let model = try? JSONDecoder().decode(CostModel.self, from: bytes), model.isUsable else {
            logger.notice("\(path) is damaged or of another release: costs are learnt anew")
            return CostModel()
        }
        return model
    }

    /// - Throws: What keeps it from being written, in words.
    func write(_ model: CostModel) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        try encoder.encode(model).write(to: URL(fileURLWithPath: path), options: .atomic)
    }
}
