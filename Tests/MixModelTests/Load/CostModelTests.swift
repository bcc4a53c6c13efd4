import LayoutEngine
import MixModel
import TestSupport
import Testing

/// The cost of programs, learnt from noisy samples and always plausible.
@Suite struct CostModelTests {
    /// A machine whose costs differ from the prior by factors and noise.
    private struct Machine {
        /// Factors of the prior's coefficients.
        var factors: [Double]
        var noise = 0.08
        let prior = CostModel().mixer.prior

        func cores(_ features: [Double]) -> Double {
            zip(zip(prior, factors), features).reduce(0) { $0 + $1.0.0 * $1.0.1 * $1.1 }
        }
    }

    private static func features(_ random: inout SeededGenerator) -> [Double] {
        let composed = Double.random(in: 2...60, using: &random)
        let people = Double(Int.random(in: 1...9, using: &random))
        return [
            1, composed, people * .random(in: 2...25, using: &random), composed * .random(in: 0.5...1, using: &random),
            people, Int.random(in: 0..<4, using: &random) == 0 ? composed : 0,
            Int.random(in: 0..<4, using: &random) == 0 ? composed * 0.6 : 0,
        ]
    }

    @Test func itComesCloseToAMachineThatTheFirstGuessIsFarFrom() {
        var random = SeededGenerator(announcedFor: "cost model")
        let seed = random.seed
        var before: [Double] = []
        var after: [Double] = []
        for _ in 0..<40 {
            let machine = Machine(factors: CostModel().mixer.prior.map { _ in .random(in: 0.4...2.5, using: &random) })
            var estimator = CostModel().mixer
            for _ in 0..<120 {
                let features = Self.features(&random)
                let noise = 1 + Double.random(in: -machine.noise...machine.noise, using: &random)
                estimator.learn(features, measured: machine.cores(features) * noise)
            }
            for _ in 0..<20 {
                let unseen = Self.features(&random)
                let truth = machine.cores(unseen)
                before.append(abs(CostModel().mixer.predict(unseen) - truth) / truth)
                after.append(abs(estimator.predict(unseen) - truth) / truth)
            }
        }
        let mean = after.reduce(0, +) / Double(after.count)
        let first = before.reduce(0, +) / Double(before.count)
        print(
            "cost of unseen mixes: mean error \(percent(first)) before, \(percent(mean)) after, "
                + "worst \(percent(after.max() ?? 0))")
        #expect(mean < 0.06, "seed \(seed)")
        #expect(after.max() ?? 1 < 0.30, "seed \(seed)")
    }

    @Test func whatIsMeasuredWronglyNowAndThenMovesLittle() {
        var random = SeededGenerator(announcedFor: "cost model, outliers")
        let seed = random.seed
        let machine = Machine(factors: [1.5, 0.7, 1.2, 1, 2, 1.4, 0.8])
        var estimator = CostModel().mixer
        for round in 0..<400 {
            let features = Self.features(&random)
            // The outliers are a stalled mixer, a foreign load that is counted in, and a counter that jumped.
            let measured =
                round % 20 == 7 ? [0, machine.cores(features) * 5, 64][round / 20 % 3] : machine.cores(features)
            estimator.learn(features, measured: measured)
        }
        for _ in 0..<50 {
            let unseen = Self.features(&random)
            let error = abs(estimator.predict(unseen) - machine.cores(unseen)) / machine.cores(unseen)
            #expect(error < 0.15, "seed \(seed)")
        }
    }

    @Test func nothingThatIsMeasuredMakesItNegativeOrAbsurd() {
        var random = SeededGenerator(announcedFor: "cost model, anything")
        let seed = random.seed
        var estimator = CostModel().mixer
        for _ in 0..<5000 {
            let features = Self.features(&random).map { Bool.random(using: &random) ? $0 : 0 }
            let odd = [Double.nan, .infinity, -1, 0, 1e12, .random(in: 0...3, using: &random)]
            estimator.learn(features, measured: odd.randomElement(using: &random) ?? 0)
            for (coefficient, prior) in zip(estimator.coefficients, estimator.prior) {
                #expect(coefficient >= prior * 0.09 && coefficient <= prior * 10.1, "seed \(seed)")
            }
        }
        #expect(estimator.isSound)
        #expect(estimator.predict([1, 20, 40, 20, 2, 0, 0]) > 0)
    }

    @Test func itFollowsAMachineThatBecomesAnother() {
        var random = SeededGenerator(announcedFor: "cost model, change")
        let seed = random.seed
        var estimator = CostModel().mixer
        for factor in [0.5, 2.0] {
            let machine = Machine(factors: CostModel().mixer.prior.map { _ in factor })
            for _ in 0..<2000 {
                let features = Self.features(&random)
                estimator.learn(features, measured: machine.cores(features))
            }
            let unseen = Self.features(&random)
            #expect(
                abs(estimator.predict(unseen) - machine.cores(unseen)) < machine.cores(unseen) * 0.15, "seed \(seed)")
        }
    }

    @Test func moreWorkNeverCostsLess() {
        let model = CostModel()
        let plain = Scene(
            canvas: .portrait, panes: [Pane(source: "a/camera", user: "a", x: 0, y: 0, width: 720, height: 1280)])
        let one = [PlannedSource(id: "a/camera", url: "rtmp://x/a")]
        let two = one + [PlannedSource(id: "b/camera", url: "rtmp://x/b")]
        let bypass = Workload(mode: .bypass("a/camera"), scene: plain, sources: one, outputs: 1)
        let mix = Workload(mode: .mix(host: "a/camera"), scene: plain, sources: one, outputs: 1)
        let bigger = Workload(mode: .mix(host: "a/camera"), scene: plain, sources: two, outputs: 1)
        let slate = Workload(mode: .slate, scene: Scene(canvas: .portrait, panes: []), sources: [], outputs: 1)
        #expect(bypass.mix == nil)
        #expect(model.cores(bypass) < 0.02)
        #expect(model.cores(bypass) < model.cores(slate))
        #expect(model.cores(slate) < model.cores(mix))
        #expect(model.cores(mix) < model.cores(bigger))
        let other = Workload(
            mode: .mix(host: "a/camera"), scene: plain, sources: one, outputs: 1,
            encoding: EncodingSettings(videoCodec: .h265))
        #expect(model.cores(mix) < model.cores(other))
        #expect(
            model.cores(.mixOfTwo(on: .portrait))
                < model.cores(.mixOfTwo(on: .portrait, encoding: EncodingSettings(videoCodec: .h265))))
        let costs = (0...Degradation.highest).map {
            model.cores(mix.divided(by: Degradation.frameDivisor(ofLevel: $0)))
        }
        #expect(costs[0] > costs[1] && costs[1] > costs[2] && costs[2] > costs[3] && costs[3] == costs[4])
        let planned = Workload(mode: .mix(host: "a/camera"), scene: plain, sources: one, outputs: 1, frameDivisor: 4)
        #expect(mix.divided(by: 4) == planned)
        // A preset adds cost, unless it is one that costs no more than the mixer's own settings.
        let byPreset = EncodingSettings.Preset.allCases.map { preset in
            model.cores(.mixOfTwo(on: .portrait, encoding: EncodingSettings(preset: preset)))
        }
        let own = model.cores(.mixOfTwo(on: .portrait))
        #expect(byPreset[0] == own && byPreset[2] > own && byPreset == byPreset.sorted())
        let h265ByPreset = EncodingSettings.Preset.allCases.map { preset in
            model.cores(.mixOfTwo(on: .portrait, encoding: EncodingSettings(videoCodec: .h265, preset: preset)))
        }
        #expect(h265ByPreset.allSatisfy { $0 > own } && h265ByPreset[0] == h265ByPreset.min())
        let slow = Workload(
            mode: .mix(host: "a/camera"), scene: plain, sources: one, outputs: 1,
            encoding: EncodingSettings(preset: .medium))
        #expect(slow.divided(by: 2).mix?.presetWork == slow.mix?.presetWork.map { $0 / 2 })
        let half = other.divided(by: 2)
        #expect(half.mix?.encodedH265 == half.mix?.composed && half.mix?.composed == mix.divided(by: 2).mix?.composed)
    }

    /// Streams whose camera is off are not decoded, and known facts about the other streams count.
    @Test func onlyWhatIsDecodedCounts() {
        let scene = Scene(canvas: .portrait, panes: [])
        let sources = [
            PlannedSource(id: "a/camera", url: "x", audio: true, video: false),
            PlannedSource(id: "b/camera", url: "x", audio: false, video: true),
        ]
        let load = Workload(
            mode: .mix(host: "a/camera"), scene: scene, sources: sources, outputs: 2,
            pictures: ["b/camera": Workload.Pictures(width: 1000, height: 500, rate: 30)])
        #expect(load.copies == 4)
        #expect(load.mix?.decoded == 15)
        #expect(load.mix?.sounds == 1)
    }

    private func percent(_ share: Double) -> String { "\((share * 1000).rounded() / 10) %" }
}
