"""drawn.py ANSWERS SEED: random schemas of everything together; answers judged by the package jsonschema."""
import collections, json, random, subprocess, sys
import jsonschema

random.seed(int(sys.argv[2]))
def sch(d):
    r=random.random()
    if d==0 or r<.3:
        return random.choice([{"type":"integer"},{"type":"integer","minimum":random.randint(-5,5),"maximum":random.randint(6,200)},{"type":"number","exclusiveMinimum":0,"maximum":round(random.random()*10,2)+.5},{"type":"string","maxLength":5},{"type":"string","pattern":random.choice(["^a+b?$","x","^[0-9]{2,3}$"])},{"enum":random.sample(["a","b",1,2,None,True,[1],{"a":1}],3)},{"const":random.choice(["a",1,None,False])},{"type":"boolean"},{"type":"null"},True,{"multipleOf":3,"type":"integer"},{"type":["string","null"],"minLength":1},{"type":"string","format":random.choice(["date","uuid","email"])}])
    if r<.55:
        names=random.sample("abcd",random.randint(1,3))
        o={"type":"object","properties":{n:sch(d-1) for n in names}}
        if random.random()<.6: o["required"]=random.sample("abcd",random.randint(1,2))
        if random.random()<.5: o["additionalProperties"]=random.choice([False,True,sch(0)])
        if random.random()<.15: o["minProperties"]=1
        if random.random()<.15: o["maxProperties"]=2
        if random.random()<.15: o["patternProperties"]={random.choice(["^a","b$"]):sch(0)}
        if random.random()<.1: o["dependentRequired"]={"a":["b"]}
        if random.random()<.1: o["propertyNames"]={"pattern":"^[a-c]"}
        return o
    if r<.7:
        a={"type":"array"}
        if random.random()<.5: a["items"]=sch(d-1)
        if random.random()<.3: a["prefixItems"]=[sch(d-1) for _ in range(random.randint(1,3))]
        if random.random()<.3: a["minItems"]=random.randint(0,3)
        if random.random()<.3: a["maxItems"]=random.randint(1,4)
        return a
    if r<.8: return {random.choice(["anyOf","oneOf"]):[sch(d-1) for _ in range(random.randint(1,3))]}
    if r<.87: return {"allOf":[sch(d-1) for _ in range(2)]}
    if r<.92: return {"if":sch(d-1),"then":sch(d-1),"else":sch(d-1)}
    if r<.95: return {"not":sch(d-1)}
    s=sch(d-1)
    if isinstance(s,dict) and isinstance(t:=sch(d-1),dict): return {**t,**s}
    return s
N=1500
S=[sch(3) for _ in range(N)]
o=subprocess.run([sys.argv[1], '12'],input=''.join(json.dumps(s)+'\n' for s in S),capture_output=True,text=True).stdout.split('\n')
bad=0;taken=0;why=collections.Counter();ans=0;cut=0
for s,l in zip(S,o):
    a=json.loads(l)
    if 'refused' in a: why[a['refused'][:70]]+=1; continue
    taken+=1
    v=jsonschema.Draft202012Validator(s,format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
    for t in a['answers']:
        if t is True: cut+=1; continue
        ans+=1
        ok=False
        try: ok=t is not False and v.is_valid(json.loads(t))
        except ValueError: pass
        if not ok:
            bad+=1
            if bad<6: print(json.dumps(s),'->',t)
print(taken,'taken',ans,'answers',cut,'cut',bad,'bad',why.most_common(12))
sys.exit(bad > 0)
