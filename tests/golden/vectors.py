"""Small models of vectors and scores with what sentence-transformers makes of texts: FOLDER/NAME, to be packed by pack.py; of NAMEs alone where some are given."""
import json, os, re, shutil, sys
import torch, transformers
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, decoders, trainers
from sentence_transformers import SentenceTransformer, CrossEncoder
from sentence_transformers.sentence_transformer.modules import Pooling
from sentence_transformers.base.modules import Dense, Transformer, Normalize
from transformers import PreTrainedTokenizerFast

FOLDER, ONLY = sys.argv[1], sys.argv[2:]
TEXTS = ["The cat sat on the mat.", "A dog sleeps by the door, and the cat watches it.", "", "Käse und Brot — 3,50 € das Stück",
         "What is the capital of France?", "Paris is the capital of France, and its largest city; London is that of England.",
         "one two three four five six seven eight nine ten " * 6, "x"]
QUERY = "where does the cat sleep?"
LIVELY = ("embed_mpnet", "embed_nomic", "embed_gte", "embed_gemma3", "embed_qwen2", "embed_llama", "rerank_gte")
CORPUS = TEXTS + ["the quick brown fox jumps over the lazy dog", "rain and snow in the north, sun in the south", "it is what it is"] * 3


def wordpiece():
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=True)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=300, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    t.decoder = decoders.WordPiece(prefix="##")
    return PreTrainedTokenizerFast(tokenizer_object=t, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]", model_max_length=64,
                                   model_input_names=["input_ids", "token_type_ids", "attention_mask"])


def bytes_bpe(specials, after=None):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=320, special_tokens=specials, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    t.decoder = decoders.ByteLevel()
    if after:
        t.post_processor = processors.TemplateProcessing(single="$A " + after, pair="$A $B " + after, special_tokens=[(after, specials.index(after))])
    return PreTrainedTokenizerFast(tokenizer_object=t, pad_token=specials[0], eos_token=specials[0], model_max_length=64)


def roberta_bpe():
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=320, special_tokens=specials, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    t.decoder = decoders.ByteLevel()
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False)
    return PreTrainedTokenizerFast(tokenizer_object=t, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>", cls_token="<s>", sep_token="</s>", mask_token="<mask>", model_max_length=62)


def xlmr_unigram():
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.NFKC()])
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.train_from_iterator(CORPUS, trainers.UnigramTrainer(vocab_size=200, special_tokens=specials, unk_token="<unk>"))
    t.decoder = decoders.Metaspace()
    t.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    return PreTrainedTokenizerFast(tokenizer_object=t, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>", cls_token="<s>", sep_token="</s>", model_max_length=62)


SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, initializer_range=0.25)
BERT = lambda t, **k: transformers.BertConfig(vocab_size=len(t), max_position_embeddings=64, pad_token_id=0, **SMALL, **k)
QWEN = lambda t, **k: transformers.Qwen3Config(vocab_size=len(t), max_position_embeddings=256, num_key_value_heads=2, head_dim=8, tie_word_embeddings=True,
                                               pad_token_id=0, eos_token_id=0, bos_token_id=None, **SMALL, **k)
XLMR = lambda c, t, **k: c(vocab_size=len(t), max_position_embeddings=64, type_vocab_size=1, pad_token_id=1, bos_token_id=0, eos_token_id=2, layer_norm_eps=1e-5, **SMALL, **k)
MODERN = lambda t, **k: transformers.ModernBertConfig(vocab_size=len(t), max_position_embeddings=128, pad_token_id=0, cls_token_id=2, sep_token_id=3, bos_token_id=2, eos_token_id=3,
                                                      local_attention=16, initializer_cutoff_factor=2.0, **SMALL, **k)


GEMMA = lambda t, **k: transformers.Gemma3TextConfig(vocab_size=len(t), max_position_embeddings=256, num_key_value_heads=1, head_dim=8, pad_token_id=0, eos_token_id=0,
                                                     bos_token_id=None, query_pre_attn_scalar=8, sliding_window=12, use_bidirectional_attention=True,
                                                     layer_types=["sliding_attention", "full_attention", "sliding_attention"], **{**SMALL, "num_hidden_layers": 3}, **k)
MPNET = lambda t, **k: transformers.MPNetConfig(vocab_size=len(t), max_position_embeddings=66, pad_token_id=1, bos_token_id=0, eos_token_id=2, layer_norm_eps=1e-5, **SMALL, **k)
NOMIC = lambda t, **k: transformers.NomicBertConfig(vocab_size=len(t), max_position_embeddings=256, pad_token_id=0, **SMALL, **k)
GTE = lambda t, **k: transformers.GteConfig(vocab_size=len(t), max_position_embeddings=256, pad_token_id=0, **SMALL, **k)


def new_impl(tensors, config):
    """As Alibaba's own code for GTE has them."""
    out = {re.sub("^gte[.]", "new.", name): t for name, t in tensors.items()}
    own = {k: v for k, v in config.items() if k not in ("rope_parameters", "tie_word_embeddings")}
    return out, own | {"architectures": ["NewForSequenceClassification"], "model_type": "new", "rope_theta": 500000, "rope_scaling": {"type": "ntk", "factor": 2.0},
                       "position_embedding_type": "rope", "layer_norm_type": "layer_norm", "logn_attention_scale": False, "logn_attention_clip1": False, "pack_qkv": True,
                       "unpad_inputs": False, "use_memory_efficient_attention": False}


def ntk(model):
    """Alibaba's rotary positions of factor 2 and base 500,000, which the library does not have."""
    d = 8
    frequencies = (500000 * 2.0) ** (-torch.arange(0, d, 2) / d) / 2.0 ** (2 / d)
    for m in model.modules():
        if hasattr(m, "inv_freq"):
            m.inv_freq.copy_(frequencies)


def renamed(path, as_own):
    file, config_path = os.path.join(path, "model.safetensors"), os.path.join(path, "config.json")
    tensors, config = as_own(load_file(file), json.load(open(config_path)))
    save_file({k: v.contiguous() for k, v in tensors.items()}, file)
    json.dump(config, open(config_path, "w"), indent=2)


def save(name, config, cls, tokenizer):
    torch.manual_seed(1)
    model = cls(config)
    if name in LIVELY:
        for n, p in model.named_parameters():
            if p.dim() == 1:  # which are ones and zeros otherwise
                torch.nn.init.normal_(p, float(p[0]), 0.25)
    model = model.to(torch.bfloat16).eval()
    base = os.path.join(FOLDER, "base", name)
    model.save_pretrained(base)
    tokenizer.save_pretrained(base)
    return base


def finish(path, outputs):
    with open(os.path.join(path, "vectors.json"), "w") as f:
        json.dump(outputs, f, ensure_ascii=False)
    for extra in ("README.md", "special_tokens_map.json"):
        if os.path.exists(p := os.path.join(path, extra)):
            os.remove(p)


def embedder(name, config, cls, tokenizer, pooling, normal=True, prompts=None, usual=None, dense=()):
    if ONLY and name not in ONLY:
        return
    base = save(name, config, cls, tokenizer)
    modules = [Transformer(base, model_kwargs={"dtype": torch.float32, "attn_implementation": "eager"})]
    modules.append(Pooling(modules[0].get_embedding_dimension() if hasattr(modules[0], "get_embedding_dimension") else 32, pooling_mode=pooling))
    width = 32
    for out, bias, activation in dense:
        modules.append(Dense(width, out, bias=bias, activation_function=activation))
        width = out
    if normal:
        modules.append(Normalize())
    model = SentenceTransformer(modules=modules, prompts=prompts, default_prompt_name=usual, device="cpu")
    path = os.path.join(FOLDER, name)
    shutil.rmtree(path, ignore_errors=True)
    model.save(path)
    shutil.copy(os.path.join(base, "model.safetensors"), path)
    config_path = os.path.join(path, "config.json")
    saved = json.load(open(config_path)) | {"dtype": "bfloat16"}
    json.dump(saved, open(config_path, "w"), indent=2)
    of = {"texts": TEXTS, "vectors": model.encode(TEXTS, batch_size=1).tolist()}
    for p in prompts or {}:
        of[p] = model.encode(TEXTS, prompt_name=p, batch_size=1).tolist()
    finish(path, of)


def reranker(name, config, cls, tokenizer, activation=None, token=None, prompt=None, changed=None, as_own=None):
    if ONLY and name not in ONLY:
        return
    base = save(name, config, cls, tokenizer)
    path = os.path.join(FOLDER, name)
    shutil.rmtree(path, ignore_errors=True)
    if token is None:
        model = CrossEncoder(base, device="cpu", model_kwargs={"dtype": torch.float32, "attn_implementation": "eager"}, activation_fn=activation)
        if name.endswith("plain"):
            shutil.copytree(base, path)
        else:
            model.save(path)
    else:
        from sentence_transformers.cross_encoder.modules import LogitScore
        t = Transformer(base, transformer_task="text-generation", model_kwargs={"dtype": torch.float32, "attn_implementation": "eager"})
        model = CrossEncoder(modules=[t, LogitScore(*token)], device="cpu", prompts=prompt, default_prompt_name=next(iter(prompt)) if prompt else None)
        model.save(path)
    shutil.copy(os.path.join(base, "model.safetensors"), path)
    config_path = os.path.join(path, "config.json")
    saved = json.load(open(config_path)) | {"dtype": "bfloat16"}
    json.dump(saved, open(config_path, "w"), indent=2)
    if as_own:
        renamed(path, as_own)
    if changed:
        changed(model)
    scores = model.predict([(QUERY, t) for t in TEXTS], batch_size=1).tolist()
    finish(path, {"query": QUERY, "texts": TEXTS, "scores": scores})


w = wordpiece()
embedder("embed_bert", BERT(w), transformers.BertModel, w, "mean", prompts={"query": "query: ", "document": ""})
embedder("embed_roberta", XLMR(transformers.XLMRobertaConfig, (u := xlmr_unigram())), transformers.XLMRobertaModel, u, "cls", normal=True)
embedder("embed_modernbert", MODERN(w), transformers.ModernBertModel, w, "cls", normal=False, prompts={"query": "search: "}, usual="query")
b = bytes_bpe(["<|endoftext|>", "<|im_start|>", "<|im_end|>"], "<|endoftext|>")
embedder("embed_qwen3", QWEN(b), transformers.Qwen3Model, b, "lasttoken", prompts={"query": "Instruct: find it\nQuery:", "document": ""})
# As Qwen3-Embedding has it.
if not ONLY or "embed_qwen3" in ONLY:
    path = os.path.join(FOLDER, "embed_qwen3", "config.json")
    saved = json.load(open(path)) | {"architectures": ["Qwen3ForCausalLM"]}
    json.dump(saved, open(path, "w"), indent=2)
reranker("rerank_bert", BERT(w, num_labels=1), transformers.BertForSequenceClassification, w, torch.nn.Identity())
r = roberta_bpe()
reranker("rerank_roberta", XLMR(transformers.RobertaConfig, r, num_labels=1), transformers.RobertaForSequenceClassification, r)
reranker("rerank_modernbert", MODERN(w, num_labels=1, classifier_pooling="mean"), transformers.ModernBertForSequenceClassification, w)
q = bytes_bpe(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
q.chat_template = """<|im_start|>system
Judge whether the document meets the query.<|im_end|>
<|im_start|>user
<Instruct>: {{ messages | selectattr("role", "eq", "system") | map(attribute="content") | first | default("find it") }}
<Query>: {{ messages | selectattr("role", "eq", "query") | map(attribute="content") | first }}
<Document>: {{ messages | selectattr("role", "eq", "document") | map(attribute="content") | first }}<|im_end|>
<|im_start|>assistant
"""
q.model_max_length = 256
reranker("rerank_qwen3", QWEN(q), transformers.Qwen3ForCausalLM, q, token=(q.convert_tokens_to_ids("s"), q.convert_tokens_to_ids("n")), prompt={"web": "find what answers"})
embedder("embed_mpnet", MPNET((m := roberta_bpe())), transformers.MPNetModel, m, "mean")
embedder("embed_nomic", NOMIC(w), transformers.NomicBertModel, w, "mean", prompts={"query": "search_query: ", "document": "search_document: "})
embedder("embed_gte", GTE(w, type_vocab_size=0), transformers.GteModel, w, "cls")
embedder("embed_gemma3", GEMMA(b), transformers.Gemma3TextModel, b, "mean", prompts={"query": "task: search result | query: ", "document": "title: none | text: "},
         dense=[(48, False, torch.nn.Identity()), (24, True, torch.nn.Tanh())])
# As KaLM's and gte's decoders have it: tokens see all of a text.
embedder("embed_qwen2", transformers.Qwen2Config(vocab_size=len(b), max_position_embeddings=256, num_key_value_heads=2, tie_word_embeddings=True, pad_token_id=0, eos_token_id=0,
                                                 bos_token_id=None, is_causal=False, **SMALL), transformers.Qwen2Model, b, "mean")
# A decoder's means, of tokens that see what is before them.
embedder("embed_llama", transformers.LlamaConfig(vocab_size=len(b), max_position_embeddings=256, num_key_value_heads=2, tie_word_embeddings=True, pad_token_id=0, eos_token_id=0,
                                                 bos_token_id=None, **SMALL), transformers.LlamaModel, b, "mean")
reranker("rerank_gte", GTE(w, num_labels=1, type_vocab_size=2), transformers.GteForSequenceClassification, w, changed=ntk, as_own=new_impl)
